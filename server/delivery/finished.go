package delivery

// finish takes over whether an object has run to its end, and tells whether that is news. A
// finished Job or Pod stays where it ran for as long as it exists in the space: sent anywhere else
// it would run again, and taken off it would take its logs with it. It is not waited for in a move,
// and what it names need not be with it. After a restart its annotation tells where it ran.
func (d *Delivery) finish(o *object, finished, first bool) bool {
	switch {
	case !finished || o.finished:
		o.finished = finished
		if !finished {
			delete(d.finished, o)
		}
		return false
	case first && o.on == nil:
		d.finished[o] = o.note
	default:
		d.finished[o] = o.on
	}
	o.finished = true
	delete(d.holds, o)
	return true
}
