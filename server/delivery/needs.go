package delivery

import "skerry.dev/skerry/store"

// Needs lists what the pods of a workload name.
func (d *Delivery) Needs(k store.Key) []store.Key {
	return d.related(k, func(w *work) []*object { return w.names })
}

// NeededBy lists the workloads whose pods name an object.
func (d *Delivery) NeededBy(k store.Key) []store.Key {
	return d.related(k, func(w *work) []*object { return w.namedBy })
}

func (d *Delivery) related(k store.Key, list func(*work) []*object) (out []store.Key) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	o := d.find(k)
	if o == nil || o.work == nil {
		return nil
	}
	for _, other := range list(o.work) {
		if other.present {
			out = append(out, other.key())
		}
	}
	return out
}
