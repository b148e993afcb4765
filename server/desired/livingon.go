package desired

import (
	"fmt"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// orphans takes over whether an object's deletion leaves what it owns. The note is its annotation,
// which says after a restart where it was.
func (s *step) orphans(o *catalog.Object) {
	n := o.Namespace
	_, was := n.LivesOn.Owners[o]
	switch is := o.Present && o.Dependents && placement.OwnsPods(o.Key()); {
	case is == was:
		return
	case is:
		if n.LivesOn.Owners == nil {
			n.LivesOn.Owners = map[*catalog.Object]*catalog.Set{}
		}
		n.LivesOn.Owners[o] = s.st.catalog.Sets.Union(o.On, s.st.catalog.Sets.Of(o.Note.List()))
	default:
		delete(n.LivesOn.Owners, o)
	}
	s.spaced[n] = struct{}{}
	if !s.bulk {
		s.st.catalog.Note(n.Self)
	}
}

// LivesOn takes over what the annotation of a Namespace says.
func (s *step) livesOn(n *catalog.Namespace, obj map[string]any) {
	now := s.st.catalog.Sets.Of(placement.Split(
		fields.String(fields.Map(obj, "metadata"), "annotations", v1alpha1.AnnotationDependents)))
	if n.LivesOn.Written != now {
		n.LivesOn.Written, n.LivesOn.Stored = now, now
	}
}

// followLivesOn settles the Namespaces in which something lives on, after the targets or the space
// changed.
func (s *step) followLivesOn(sp *catalog.Space) {
	if s.bulk {
		return
	}
	for _, n := range sp.Namespaces {
		if n.Self != nil && (n.LivesOn.Stored != nil || len(n.LivesOn.Owners) > 0) {
			s.settle(n.Self, false)
			s.st.catalog.Note(n.Self)
		}
	}
}

func (s *step) followAllLivesOn() {
	for _, sp := range s.st.catalog.Spaces {
		s.followLivesOn(sp)
	}
}

// KeepsDependents returns an error while it is not stored where something lives on that an object
// owned, which is being deleted with orphan: a restart would forget it. The caller tries again.
func (st *State) KeepsDependents(k store.Key) error {
	st.catalog.Lock() // targets are interned
	defer st.catalog.Unlock()
	o := st.catalog.Find(k)
	if !placement.OwnsPods(k) || st.catalog.SeenAt > 0 && (o == nil || !o.Present) {
		return nil
	}
	if o == nil || !o.Leaving || o.Namespace.Self != nil && !o.Namespace.Self.Leaving &&
		st.catalog.Sets.Minus(st.catalog.KeptFor(o.Namespace), o.Namespace.LivesOn.Written) != nil {
		return fmt.Errorf("the Namespace of %s does not say yet where what it owns lives on", k)
	}
	return nil
}
