package desired

import (
	"slices"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// connect takes over what a workload's pods name, and returns the objects for which that changed.
func (s *step) connect(o *catalog.Object, r reading) []*catalog.Object {
	st := s.st
	var touched []*catalog.Object
	if !o.NamesExactly(r.names) {
		touched = s.disconnect(o)
		for _, k := range r.names {
			n := st.catalog.NamespaceOf(o.Namespace.Space, k.Namespace)
			dep := st.catalog.Place(n, st.catalog.KindOf(store.Write{Key: k}), k.Name)
			dep.NeedWork().NamedBy = append(dep.Work.NamedBy, o)
			o.NeedWork().Names = append(o.Work.Names, dep)
			touched = append(touched, dep)
		}
		for _, dep := range touched {
			st.catalog.Forget(dep)
		}
	}
	if r.security != placement.NeedsNothing || r.replicas != 0 ||
		r.requests != (placement.Requests{}) || r.templates || r.account.Name != "" || o.Work != nil {
		w := o.NeedWork()
		w.Replicas, w.Templates, w.Account, w.Said = r.replicas, r.templates, r.account, r.podAPISaid
		w.Requests, w.Security, w.Hosts = r.requests, r.security, r.hosts
	}
	return touched
}

// disconnect takes back what the object names, and returns it.
func (s *step) disconnect(o *catalog.Object) []*catalog.Object {
	if o.Work == nil {
		return nil
	}
	names := o.Work.Names
	for _, dep := range names {
		dep.Work.NamedBy = slices.DeleteFunc(dep.Work.NamedBy, func(w *catalog.Object) bool { return w == o })
		dep.DropWork()
	}
	o.Work.Names = nil
	if !o.Present {
		o.Work.Replicas, o.Work.Templates, o.Work.Account = 0, false, placement.PodAccount{}
		o.Work.Requests, o.Work.Security, o.Work.Hosts = placement.Requests{}, placement.NeedsNothing, nil
	}
	o.DropWork()
	return names
}

// settleApart takes over whether the definitions of its space follow an object. Space.uses
// does not count it while its Placement says that only what is selected goes.
func (s *step) settleApart(o *catalog.Object) {
	apart := o.Present && !o.BringsDependencies() && o.Kind.Order == store.ClassOther
	if apart == o.Apart || o.Rights() {
		return
	}
	o.Apart = apart
	from, to := (*catalog.Set)(nil), o.On
	if apart {
		from, to = o.On, nil
	}
	if shift(o.Namespace.Space.Uses, from, to) {
		s.spaces[o.Namespace.Space] = struct{}{}
	}
}
