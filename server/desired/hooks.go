package desired

import (
	"skerry.dev/skerry/server/catalog"
)

// hook takes over the mark of an object, and wakes what waits for it.
func (s *step) hook(o *catalog.Object, m *catalog.HookMark) {
	st := s.st
	if m == nil && o.Hook == nil {
		return
	}
	was := o.Hook
	if o.Hook = m; m == nil {
		m = was
		delete(st.catalog.HookMarks, o)
	} else {
		st.catalog.HookMarks[o] = struct{}{}
	}
	if r, ok := st.catalog.OwnerOf(o.Namespace.Space.Name, m.Of); ok && !s.bulk {
		st.catalog.Groups.Add(r)
	}
	if !s.bulk && o.Hook != nil {
		st.catalog.HookJobs.Add(o.Key())
	}
}

// TidyHooks looks at all Jobs that are hooks. The lock must be held.
func (st *State) TidyHooks() {
	for o := range st.catalog.HookMarks {
		st.catalog.HookJobs.Add(o.Key())
	}
}

// hookChanged has hooks tried again that have failed and run what an object says. The lock must be held.
func (st *State) hookChanged(o *catalog.Object) {
	if r := o.Kind.Resource; r != "cronjobs" && r != "services" {
		return
	}
	st.catalog.WakeFailed(o.Key())
}
