package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// leave makes the tombstones of an object for the targets whose feeds have it and next has not. kept tells
// whether it stays there, intended whether a target need not ask about them. A deletion in the space
// is a deletion everywhere; being placed elsewhere is what a policy may turn into being let go.
func (s *step) leave(o *catalog.Object, next *catalog.Set) (kept, intended bool) {
	left := s.st.catalog.Sets.Minus(s.st.catalog.Feeds(o), next)
	if left == nil {
		return false, false
	}
	how := store.RemoveDelete
	switch {
	case (!o.Present || o.Leaving) && o.Dependents:
		how = store.RemoveKeepDependents
	case o.Present && !o.Leaving && (o.Keeps || s.st.catalog.KeepsPlace(o)):
		how, kept = store.RemoveOrphan, true
		s.keep(o, s.st.catalog.Sets.Minus(left, o.Named))
	}
	c := s.st.catalog
	intended = next == nil && (c.Intended(o.Key()) || c.WasAsked(o) || o.Goes || c.Stays(o))
	for _, t := range left.List() {
		s.st.Doubts.Drop(t, o.Key())
		as := how
		switch {
		case o.Named.Has(t):
			as = store.RemoveDelete // nothing of it is there but its name
		case how != store.RemoveDelete:
		case s.leavesData(o, t):
			as = store.RemoveOrphan
			s.keep(o, s.st.catalog.Sets.Of([]string{t}))
		case s.frames(o, t):
			as = store.RemoveOrphan
		}
		s.changes[t] = append(s.changes[t], store.Change{Key: o.Key(), Removal: as, Intended: intended})
	}
	return kept, intended
}

// leavesData reports whether an object is a claim that goes on elsewhere because its target is away:
// there its data stay.
func (s *step) leavesData(o *catalog.Object, target string) bool {
	t := s.st.catalog.Targets[target]
	return o.IsClaim() && o.Present && !o.Leaving && t != nil && !t.Connected
}

// keep remembers that something of a namespace and of its space stays on targets.
func (s *step) keep(o *catalog.Object, on *catalog.Set) {
	o.Namespace.Kept = s.st.catalog.Sets.Union(o.Namespace.Kept, on)
	o.Namespace.Space.Kept = s.st.catalog.Sets.Union(o.Namespace.Space.Kept, on)
}

// frames reports whether the object is a Namespace or a definition of something that stays on the
// target: then it stays too, so that what stays goes on living. In the space it may be deleted for
// good: the target refuses to delete what is not empty.
func (s *step) frames(o *catalog.Object, target string) bool {
	if !o.Present || o.Leaving {
		return false
	}
	switch o.Kind.Order {
	case store.ClassCRD:
		return o.Namespace.Space.Kept.Has(target)
	case store.ClassNamespace:
		n := o.Namespace.Space.Namespaces[o.Name]
		return n != nil && n.Kept.Has(target)
	}
	return false
}
