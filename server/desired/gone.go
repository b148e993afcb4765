package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// gone takes away an object that was deleted.
func (s *step) gone(k store.Key) {
	o := s.d.catalog.Find(k)
	if o == nil || s.retire(o) {
		return
	}
	s.remove(o)
}

// remove takes an object out of the feeds and the catalog.
func (s *step) remove(o *catalog.Object) {
	d, k, source := s.d, o.Key(), o.Source
	d.catalog.ContentChanged(source)
	d.bodies.drop(k, o.Hash) // one that was made anew may be there under the key already
	o.Present, o.Hash = false, store.Hash{}
	indexRights(o)
	reach(s, o, false)
	d.catalog.Affine.Read(o, 0)
	d.catalog.Uncommon.Read(o, placement.Uncommon{})
	s.orphans(o)
	s.stay(o, false)
	d.saysOfConditions(o, "")
	shaped := o.Shapes()
	touched := append(s.disconnect(o), d.catalog.Tie(o, nil, catalog.LabelText{}, false)...)
	delete(d.catalog.Finished, o)
	delete(d.catalog.Records.Keeping, o)
	delete(d.catalog.PlaceNotes, o)
	catalog.ForgetDoors(d.catalog, o)
	s.hook(o, nil)
	standby(s, o.Mover(), o.Namespace)
	d.catalog.Movers.Mark(o, nil)
	d.sized(o, 0)
	s.bulkSettle(o)
	delete(o.Namespace.Space.CRDs, o)
	delete(o.Namespace.Space.Customizers, o)
	delete(o.Namespace.Space.Upsyncs, o)
	shape(s, shaped)
	asked := d.catalog.WasAsked(o)
	for _, dep := range touched {
		dep.Goes = asked
		s.bulkSettle(dep)
		d.catalog.Forget(dep)
	}
	if o.Kind.Order == store.ClassNamespace {
		n := o.Namespace.Space.Namespaces[o.Name]
		n.Self, n.Group.Record, n.Group.Rests = nil, nil, false
		s.dropRetiredIn(n)
		for _, m := range n.Objects {
			s.bulkSettle(m)
		}
		d.catalog.Tidy(n)
	}
	d.catalog.Contend(o, nil, nil)
	o.WishedBy(nil)
	o.BeWith(nil)
	o.Note = nil
	d.catalog.Forget(o)
	if source != nil && (source.Moving || source.Kind == catalog.OfPlacement) && source.Kind != catalog.OfObject {
		d.catalog.Enqueue(source)
	}
	d.catalog.Tidy(o.Namespace)
}

// bulkSettle settles also within a snapshot: what is gone must leave the feeds before it leaves the
// catalog.
func (s *step) bulkSettle(o *catalog.Object) {
	bulk := s.bulk
	s.bulk = false
	s.settle(o, false)
	s.bulk = bulk
}

// sweep removes what a snapshot did not mention.
func (s *step) sweep() {
	d := s.d
	var lost []*catalog.Object
	d.catalog.EachObject(func(o *catalog.Object) {
		if o.Present && o.Epoch != d.catalog.Epoch {
			lost = append(lost, o)
		}
	})
	for _, o := range lost {
		s.gone(o.Key())
	}
	s.sweepControl()
}
