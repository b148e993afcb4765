package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// settleUpsyncs has the Upsyncs of a space follow where the space is, and what is decided.
func (s *step) settleUpsyncs(sp *catalog.Space) {
	for o := range sp.Upsyncs {
		s.settle(o, false)
	}
}

// tellUpsyncs hands on that an Upsync of a space, or one of its Namespaces, is elsewhere now.
func (st *State) tellUpsyncs(o *catalog.Object) {
	if o.Kind.Order != store.ClassRule && o.Kind.Order != store.ClassNamespace {
		return
	}
	for rule := range o.Namespace.Space.Upsyncs {
		if o.Kind.Order == store.ClassNamespace || rule == o {
			st.cfg.Upsync(rule.Key())
		}
	}
}
