package delivery

import "skerry.dev/skerry/store"

// gone takes away an object that was deleted.
func (s *step) gone(k store.Key) {
	d := s.d
	o := d.find(k)
	if o == nil {
		return
	}
	source := o.source
	d.bodies.drop(k, o.hash) // one that was made anew may be there under the key already
	o.present, o.hash = false, store.Hash{}
	indexRights(o)
	touched := s.disconnect(o)
	delete(d.holds, o)
	delete(d.finished, o)
	d.sized(o, 0)
	s.bulkSettle(o)
	delete(o.ns.space.crds, o)
	asked := d.wasAsked(o)
	for _, dep := range touched {
		dep.goes = asked
		s.bulkSettle(dep)
		d.forget(dep)
	}
	if o.kind.order == store.ClassNamespace {
		n := o.ns.space.namespaces[o.name]
		n.self, n.group.record, n.group.move = nil, nil, nil
		for _, m := range n.objects {
			s.bulkSettle(m)
		}
		d.tidy(n)
	}
	o.source, o.note = nil, nil
	d.forget(o)
	if source != nil && (source.moving || source.kind == ofPlacement) && source.kind != ofObject {
		d.enqueue(source)
	}
	d.tidy(o.ns)
}

// bulkSettle settles also within a snapshot: what is gone must leave the feeds before it leaves the
// catalog.
func (s *step) bulkSettle(o *object) {
	bulk := s.bulk
	s.bulk = false
	s.settle(o, false)
	s.bulk = bulk
}

// forget drops an object that does not exist and that nothing names.
func (d *Delivery) forget(o *object) {
	if !o.present && o.work == nil {
		delete(o.ns.objects, objectID{o.kind, o.name})
	}
}

// tidy forgets a namespace that has nothing left.
func (d *Delivery) tidy(n *namespace) {
	if n.name != "" && n.self == nil && len(n.objects) == 0 {
		delete(n.space.namespaces, n.name)
	}
	d.tidySpace(n.space)
}

// sweep removes what a snapshot did not mention.
func (s *step) sweep() {
	d := s.d
	var lost []*object
	d.eachObject(func(o *object) {
		if o.present && o.epoch != d.epoch {
			lost = append(lost, o)
		}
	})
	for _, o := range lost {
		s.gone(o.key())
	}
	s.sweepControl()
}
