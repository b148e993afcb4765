package binding

// GoOn lets tests take a step of hooks alone.
func (p *Place) GoOn(t Target, now uint32) { p.goOn(t, now) }
