package desired

import (
	"skerry.dev/skerry/server/catalog"
)

// settleRights has the Roles and bindings of a Namespace follow it; those of a space's cluster follow
// the space.
func (s *step) settleRights(n *catalog.Namespace) {
	for o := range n.Rights {
		s.settle(o, false)
	}
}

// open takes over what a target has opened.
func (s *step) open(t *catalog.Target, now catalog.Opened) {
	if t.Opened.Equal(now) {
		return
	}
	t.Opened = now
	if s.bulk {
		return // everything is settled at the end
	}
	for _, sp := range s.st.catalog.Spaces {
		s.settleRights(sp.Cluster)
		s.settleReaching(sp)
		for _, n := range sp.Namespaces {
			s.settleRights(n)
		}
	}
}

// indexRights notes that an object exists, or does not.
func indexRights(o *catalog.Object) {
	switch {
	case !o.Rights():
	case !o.Present:
		delete(o.Namespace.Rights, o)
	default:
		if o.Namespace.Rights == nil {
			o.Namespace.Rights = map[*catalog.Object]struct{}{}
		}
		o.Namespace.Rights[o] = struct{}{}
	}
}
