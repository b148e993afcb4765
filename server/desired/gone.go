package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// gone takes away an object that was deleted.
func (s *step) gone(k store.Key) {
	o := s.st.catalog.Find(k)
	if o == nil || s.retire(o) {
		return
	}
	s.remove(o)
}

// remove takes an object out of the feeds and the catalog.
func (s *step) remove(o *catalog.Object) {
	st, k, source := s.st, o.Key(), o.Source
	st.catalog.ContentChanged(source)
	st.bodies.drop(k, o.Hash) // one that was made anew may be there under the key already
	o.Present, o.Hash = false, store.Hash{}
	indexRights(o)
	reach(s, o, false)
	st.catalog.Affine.Read(o, 0)
	st.catalog.Uncommon.Read(o, placement.Uncommon{})
	s.orphans(o)
	s.stay(o, false)
	st.saysOfConditions(o, "")
	shaped := o.Shapes()
	touched := append(s.disconnect(o), st.catalog.Tie(o, nil, catalog.LabelText{}, false)...)
	delete(st.catalog.Finished, o)
	delete(st.catalog.Records.Keeping, o)
	delete(st.catalog.PlaceNotes, o)
	catalog.ForgetDoors(st.catalog, o)
	s.hook(o, nil)
	standby(s, o.Mover(), o.Namespace)
	st.catalog.Movers.Mark(o, nil)
	st.sized(o, 0)
	s.bulkSettle(o)
	delete(o.Namespace.Space.CRDs, o)
	delete(o.Namespace.Space.Customizers, o)
	delete(o.Namespace.Space.Upsyncs, o)
	shape(s, shaped)
	asked := st.catalog.WasAsked(o)
	for _, dep := range touched {
		dep.Goes = asked
		s.bulkSettle(dep)
		st.catalog.Forget(dep)
	}
	if o.Kind.Order == store.ClassNamespace {
		n := o.Namespace.Space.Namespaces[o.Name]
		n.Self, n.Group.Record, n.Group.Rests = nil, nil, false
		s.dropRetiredIn(n)
		for _, m := range n.Objects {
			s.bulkSettle(m)
		}
		st.catalog.Tidy(n)
	}
	st.catalog.Contend(o, nil, nil)
	o.WishedBy(nil)
	o.BeWith(nil)
	o.Note = nil
	st.catalog.Forget(o)
	if source != nil && (source.Moving || source.Kind == catalog.OfPlacement) && source.Kind != catalog.OfObject {
		st.catalog.Enqueue(source)
	}
	st.catalog.Tidy(o.Namespace)
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
	st := s.st
	var lost []*catalog.Object
	st.catalog.EachObject(func(o *catalog.Object) {
		if o.Present && o.Epoch != st.catalog.Epoch {
			lost = append(lost, o)
		}
	})
	for _, o := range lost {
		s.gone(o.Key())
	}
	s.sweepControl()
}
