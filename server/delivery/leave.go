package delivery

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// keepsPlace reports whether an object stays on the targets that it is no longer placed on.
func keepsPlace(p v1alpha1.SyncPolicy) bool {
	return p.WhenPlacementDeleted == v1alpha1.PlacementOrphan
}

// keepsPlace tells it of an object, by the Placement that decides about it, else by what a parent
// wrote.
func (o *object) keepsPlace() bool {
	if o.options != nil && o.options.sync != "" {
		return keepsPlace(o.options.policy)
	}
	return o.parentKeeps
}

// leave makes the tombstones of an object for the targets that it is on and next has not. kept tells
// whether it stays there, intended whether a target need not ask about them. A deletion in the space
// is a deletion everywhere; being placed elsewhere is what a policy may turn into being let go.
func (s *step) leave(o *object, next *set) (kept, intended bool) {
	left := s.d.sets.minus(o.on, next)
	if left == nil {
		return false, false
	}
	how := store.RemoveDelete
	switch {
	case (!o.present || o.leaving) && o.dependents:
		how = store.RemoveKeepDependents
	case o.present && !o.leaving && (o.keeps || o.keepsPlace()):
		how, kept = store.RemoveOrphan, true
		s.keep(o, left)
	}
	intended = next == nil && (s.d.intended(o.key()) || s.d.wasAsked(o) || o.goes)
	for _, t := range left.list() {
		s.d.doubts.drop(t, o.key())
		as := how
		if how == store.RemoveDelete && s.frames(o, t) {
			as = store.RemoveOrphan
		}
		s.changes[t] = append(s.changes[t], store.Change{Key: o.key(), Removal: as, Intended: intended})
	}
	return kept, intended
}

// keep remembers that something of a namespace and of its space stays on targets.
func (s *step) keep(o *object, on *set) {
	o.ns.kept = s.d.sets.union(o.ns.kept, on)
	o.ns.space.kept = s.d.sets.union(o.ns.space.kept, on)
}

// frames reports whether the object is a Namespace or a definition of something that stays on the
// target: then it stays too, so that what stays goes on living. In the space it may be deleted for
// good: the target refuses to delete what is not empty.
func (s *step) frames(o *object, target string) bool {
	if !o.present || o.leaving {
		return false
	}
	switch o.kind.order {
	case store.ClassCRD:
		return o.ns.space.kept.has(target)
	case store.ClassNamespace:
		n := o.ns.space.namespaces[o.name]
		return n != nil && n.kept.has(target)
	}
	return false
}
