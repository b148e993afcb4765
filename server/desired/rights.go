package desired

import (
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// decidesRights reports whether an object of this key says which pods use the API of their space.
func decidesRights(k store.Key) bool {
	switch k.Group + "/" + k.Resource {
	case "rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/clusterrolebindings",
		"/serviceaccounts", "/namespaces":
		return true
	}
	return false
}

// forgetRights forgets everything before a snapshot is taken.
func (st *State) forgetRights() {
	for _, s := range st.catalog.Spaces {
		s.Rights = catalog.Rights{}
		for _, n := range s.Namespaces {
			n.PodAPI = placement.NoWish
		}
	}
}

// rights takes over what a write says of the API of pods, and has those rendered again for which it
// is another one.
func (s *step) rights(w store.Write) {
	if !decidesRights(w.Key) {
		return
	}
	sp, meta := s.st.catalog.SpaceOf(w.Key.Space), fields.Map(w.Object, "metadata")
	switch w.Key.Resource {
	case "namespaces":
		wish := placement.PodAPIOf(meta)
		if sp.Namespaces[w.Key.Name] == nil && wish == placement.NoWish {
			return
		}
		if n := s.st.catalog.NamespaceOf(sp, w.Key.Name); n.PodAPI != wish {
			n.PodAPI = wish
			s.remarkPods(sp, w.Key.Name+"/*")
		}
	case "serviceaccounts":
		says := catalog.AccountSays{Wish: placement.PodAPIOf(meta)}
		if mounts, ok := w.Object["automountServiceAccountToken"].(bool); ok {
			says.Unseen = !mounts
		}
		if name := w.Key.Namespace + "/" + w.Key.Name; sp.Rights.Say(name, says) {
			s.remarkPods(sp, name)
		}
	default:
		bound := placement.Bound(w.Key.Namespace, w.Object)
		if fields.Map(meta, "annotations")[v1alpha1.AnnotationOrigin] != nil {
			bound = nil // it is on its way to sites, and gives nothing here
		}
		if fields.Clone(meta, "labels", v1alpha1.LabelInert) == "true" {
			bound = nil
		}
		for _, account := range sp.Rights.Bind(w.Key.Namespace+"/"+w.Key.Name, bound) {
			s.remarkPods(sp, account)
		}
	}
}

// remarkPods has the workloads of an account rendered again where that changes anything.
func (s *step) remarkPods(sp *catalog.Space, account string) {
	if s.bulk {
		return
	}
	namespace, name, _ := strings.Cut(account, "/")
	n := sp.Namespaces[namespace]
	if n == nil {
		return
	}
	for _, o := range n.Objects {
		if o.Work == nil || o.Work.Account.Name == "" || name != "*" && o.Work.Account.Name != name {
			continue
		}
		s.st.catalog.RerenderIfStale(o)
		s.st.catalog.SayPodAPI(o)
		s.tellFixed(o)
	}
}

// tellFixed tells people of a Job or a Pod that is too old to be given what it would get now.
func (s *step) tellFixed(o *catalog.Object) {
	a := o.Work.Account
	if !a.Fixed || a.Decided || a.Given || !o.Present || o.Finished || o.Leaving {
		return
	}
	if api, why := o.Namespace.PodAPIOf(a); api == placement.SpaceAPI {
		s.st.cfg.Event(placement.Event{Key: o.Key(), APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name, UID: o.UID,
			Warning: true, Reason: "PodAPI", Message: "the pods do not use the API of this space, because they were " +
				"made before " + why + "; make it anew"})
	}
}

// tellPodAPI tells people which API the pods of a workload use, when that was nothing, or something
// else, before.
func (s *step) tellPodAPI(o *catalog.Object, before *catalog.RenderOptions) {
	was, is := placement.NoWish, placement.NoWish
	if before != nil {
		was = before.Api
	}
	if o.Options != nil {
		is = o.Options.Api
	}
	if s.bulk || was == is {
		return
	}
	e := placement.Event{Key: o.Key(), APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name, UID: o.UID, Reason: "PodAPI"}
	_, why := o.Namespace.PodAPIOf(o.Work.Account)
	switch is {
	case placement.SpaceAPI:
		e.Message = "the pods use the API of this space as ServiceAccount " + o.Work.Account.Name
	case placement.NoAPI:
		e.Message = "the pods get no credentials for any API"
	default:
		e.Message = "the pods use no API of this space any more"
	}
	if why != "" {
		e.Message += ": " + why
	}
	s.st.cfg.Event(e)
}
