package desired

import (
	"context"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// reach takes over whether an object reaches all of its space. What does not go along with it, and it with others, is
// another matter then.
func reach(s *step, o *catalog.Object, is bool) {
	if o.Reaches == is {
		return
	}
	if o.Reaches = is; is {
		o.Namespace.Space.Reaching[o] = nil
	} else {
		delete(o.Namespace.Space.Reaching, o)
		importing(s, o, catalog.Import{})
	}
	if s.bulk {
		return
	}
	for _, of := range catalog.Selects(o) {
		s.st.catalog.NotesPlace(of)
	}
}

// importing takes over what an object says of itself as an import: nothing where it does not reach its space.
func importing(s *step, o *catalog.Object, is catalog.Import) {
	if !o.Reaches {
		is = catalog.Import{}
	}
	if s.st.catalog.Imports.Read(o, is) {
		s.yielded[o.Namespace.Name] = struct{}{}
	}
}

// yield has imports in Namespaces of a name be where no other member of their set has the Namespace, or its import.
func yield(s *step, namespace string) {
	for o := range s.st.catalog.Imports[namespace] {
		s.settle(o, false)
	}
}

// name takes over what is known of the name of an object. The lock must be held.
func name(o *catalog.Object, is catalog.Name) {
	switch {
	case !o.Reaches:
	case is == catalog.Name{}:
		o.Namespace.Space.Reaching[o] = nil
	default:
		o.Namespace.Space.Reaching[o] = &is
	}
}

// spaceReach takes over what a Space says of its Services.
func spaceReach(s *step, sp *catalog.Space, word placement.Reach) {
	if sp.Reach == word {
		return
	}
	if sp.Reach = word; s.bulk {
		return
	}
	sp.EachObject(func(o *catalog.Object) {
		if o.Present && o.Reach == placement.ReachUnsaid {
			s.moved(o)
		}
	})
}

// bodyAt is the body of an object for a target that has no release of it.
func (st *State) bodyAt(ctx context.Context, k store.Key, target string) ([]byte, int64, error) {
	body, generation, err := st.body(ctx, k)
	if err != nil || !st.isName(k, target) {
		return body, generation, err
	}
	body, err = customize.Name(body)
	return body, generation, err
}

// isName reports whether a target has of an object less than all, for its name alone.
func (st *State) isName(k store.Key, target string) bool {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	o := st.catalog.Find(k)
	return o != nil && o.NameAt(target) != nil
}

// shape has objects follow another one that says what targets get of them, and where their names are.
func shape(s *step, all []*catalog.Object) {
	s.st.catalog.RerenderIfStale(all...)
	for _, o := range all {
		if o.Reaches {
			s.settle(o, false)
		}
	}
}

// settleReaching has the names of Services follow where their space runs pods.
func (s *step) settleReaching(sp *catalog.Space) {
	for o := range sp.Reaching {
		s.settle(o, false)
	}
	for _, o := range s.st.catalog.Imports.Of(sp) { // which other spaces' give way to
		s.settle(o, false)
	}
}
