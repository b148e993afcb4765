package delivery

import (
	"maps"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// rights are which ServiceAccounts of a space have rights there, and what they say of their pods.
type rights struct {
	// bindings are the accounts of each RoleBinding (NAMESPACE/NAME) and ClusterRoleBinding (/NAME).
	bindings map[string][]string
	// bound counts the bindings of an account, NAMESPACE/NAME, or of all of a namespace,
	// NAMESPACE/*.
	bound map[string]int
	// accounts are those that say something of their pods, by NAMESPACE/NAME.
	accounts map[string]accountSays
}

// accountSays is what a ServiceAccount says of its pods.
type accountSays struct {
	wish   placement.PodAPI
	unseen bool // automountServiceAccountToken: false
}

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
func (d *Delivery) forgetRights() {
	for _, s := range d.spaces {
		s.rights = rights{}
		for _, n := range s.namespaces {
			n.podAPI = placement.NoWish
		}
	}
}

// rights takes over what a write says of the API of pods, and has those rendered again for which it
// is another one.
func (s *step) rights(w store.Write) {
	if !decidesRights(w.Key) {
		return
	}
	sp, meta := s.d.spaceOf(w.Key.Space), fields.Map(w.Object, "metadata")
	switch w.Key.Resource {
	case "namespaces":
		wish := placement.PodAPIOf(meta)
		if sp.namespaces[w.Key.Name] == nil && wish == placement.NoWish {
			return
		}
		if n := s.d.namespaceOf(sp, w.Key.Name); n.podAPI != wish {
			n.podAPI = wish
			s.remarkPods(sp, w.Key.Name+"/*")
		}
	case "serviceaccounts":
		says := accountSays{wish: placement.PodAPIOf(meta)}
		if mounts, ok := w.Object["automountServiceAccountToken"].(bool); ok {
			says.unseen = !mounts
		}
		if name := w.Key.Namespace + "/" + w.Key.Name; sp.rights.say(name, says) {
			s.remarkPods(sp, name)
		}
	default:
		bound := placement.Bound(w.Key.Namespace, w.Object)
		if fields.Map(meta, "annotations")[v1alpha1.AnnotationOrigin] != nil {
			bound = nil // it is on its way to sites, and gives nothing here
		}
		for _, account := range sp.rights.bind(w.Key.Namespace+"/"+w.Key.Name, bound) {
			s.remarkPods(sp, account)
		}
	}
}

// say notes what an account says of its pods, and reports whether that is something else.
func (r *rights) say(account string, says accountSays) bool {
	if r.accounts[account] == says {
		return false
	}
	if says == (accountSays{}) {
		delete(r.accounts, account)
		return true
	}
	if r.accounts == nil {
		r.accounts = map[string]accountSays{}
	}
	r.accounts[account] = says
	return true
}

// bind notes whom a binding gives rights to, nobody when it is gone, and returns the accounts that
// got their first or lost their last.
func (r *rights) bind(binding string, accounts []string) (changed []string) {
	if r.bindings == nil {
		r.bindings, r.bound = map[string][]string{}, map[string]int{}
	}
	had := map[string]bool{}
	count := func(accounts []string, by int) {
		for _, account := range accounts {
			if _, seen := had[account]; !seen {
				had[account] = r.bound[account] > 0
			}
			if r.bound[account] += by; r.bound[account] == 0 {
				delete(r.bound, account)
			}
		}
	}
	count(r.bindings[binding], -1)
	count(accounts, 1)
	if delete(r.bindings, binding); len(accounts) > 0 {
		r.bindings[binding] = accounts
	}
	maps.DeleteFunc(had, func(account string, before bool) bool { return before == (r.bound[account] > 0) })
	for account := range had {
		changed = append(changed, account)
	}
	return changed
}

// remarkPods has the workloads of an account rendered again where that changes anything.
func (s *step) remarkPods(sp *space, account string) {
	if s.bulk {
		return
	}
	namespace, name, _ := strings.Cut(account, "/")
	n := sp.namespaces[namespace]
	if n == nil {
		return
	}
	for _, o := range n.objects {
		if o.work == nil || o.work.account.Name == "" || name != "*" && o.work.account.Name != name {
			continue
		}
		s.d.rerenderIfStaleLocked(o)
		s.d.sayPodAPI(o)
		s.tellFixed(o)
	}
}

// tellFixed tells people of a Job or a Pod that is too old to be given what it would get now.
func (s *step) tellFixed(o *object) {
	a := o.work.account
	if !a.Fixed || a.Decided || a.Given || !o.present || o.finished || o.leaving {
		return
	}
	if api, why := o.ns.podAPIOf(a); api == placement.SpaceAPI {
		s.d.cfg.Event(placement.Event{Key: o.key(), APIVersion: o.kind.apiVersion, Kind: o.kind.name, UID: o.uid,
			Warning: true, Reason: "PodAPI", Message: "the pods do not use the API of this space, because they were " +
				"made before " + why + "; make it anew"})
	}
}

// podAPI is which API the pods of a workload are given.
func (o *object) podAPI() placement.PodAPI {
	if o.work == nil || o.work.account.Name == "" || o.work.account.Given {
		return placement.NoWish
	}
	if a := o.work.account; a.Fixed {
		if a.Decided {
			return placement.SpaceAPI
		}
		return placement.NoWish
	}
	api, _ := o.ns.podAPIOf(o.work.account)
	return api
}

// podAPIOf is which API the pods of an account are given in a namespace, and why. The nearest word
// counts: that of their template, of their ServiceAccount, of their Namespace; and then whether the
// account has rights in the space.
func (n *namespace) podAPIOf(a placement.PodAccount) (api placement.PodAPI, why string) {
	r, account := &n.space.rights, n.name+"/"+a.Name
	says := r.accounts[account]
	for _, word := range []struct {
		wish placement.PodAPI
		of   string
	}{{a.Wish, "its template"}, {says.wish, "ServiceAccount " + a.Name}, {n.podAPI, "its Namespace"}} {
		if word.wish != placement.NoWish {
			return word.wish, word.of + " says so by " + v1alpha1.AnnotationPodAPI
		}
	}
	unseen := says.unseen
	if a.Mounts != nil {
		unseen = !*a.Mounts
	}
	if unseen || r.bound[account] == 0 && r.bound[n.name+"/*"] == 0 {
		return placement.NoWish, ""
	}
	return placement.SpaceAPI, "ServiceAccount " + a.Name + " is bound to rights in this space"
}

// PodAPI is asked by admission for every Job and Pod that users create: which API its pods are
// given, which cannot change later.
func (d *Delivery) PodAPI(space, in string, a placement.PodAccount) placement.PodAPI {
	d.mu.RLock()
	defer d.mu.RUnlock()
	sp := d.spaces[space]
	if sp == nil {
		return a.Wish
	}
	n := sp.namespaces[in]
	if n == nil {
		n = &namespace{space: sp, name: in}
	}
	api, _ := n.podAPIOf(a)
	return api
}

// tellPodAPI tells people which API the pods of a workload use, when that was nothing, or something
// else, before.
func (s *step) tellPodAPI(o *object, before *renderOptions) {
	was, is := placement.NoWish, placement.NoWish
	if before != nil {
		was = before.api
	}
	if o.options != nil {
		is = o.options.api
	}
	if s.bulk || was == is {
		return
	}
	e := placement.Event{Key: o.key(), APIVersion: o.kind.apiVersion, Kind: o.kind.name, UID: o.uid, Reason: "PodAPI"}
	_, why := o.ns.podAPIOf(o.work.account)
	switch is {
	case placement.SpaceAPI:
		e.Message = "the pods use the API of this space as ServiceAccount " + o.work.account.Name
	case placement.NoAPI:
		e.Message = "the pods get no credentials for any API"
	default:
		e.Message = "the pods use no API of this space any more"
	}
	if why != "" {
		e.Message += ": " + why
	}
	s.d.cfg.Event(e)
}

// RunsAs reports whether a target has a workload whose pods use the API of their space as a
// ServiceAccount: because this center gives it to them (here), or a parent has (above).
func (d *Delivery) RunsAs(target, space, namespace, account string) (here, above bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	sp := d.spaces[space]
	if sp == nil || sp.namespaces[namespace] == nil {
		return false, false
	}
	for _, o := range sp.namespaces[namespace].objects {
		if o.work == nil || o.work.account.Name != account || !o.present || !o.on.has(target) {
			continue
		}
		above = above || o.work.account.Given
		here = here || o.options != nil && o.options.api == placement.SpaceAPI
	}
	return here, above
}

// UIDOf is the UID of a target, "" where there is none.
func (d *Delivery) UIDOf(target string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if t := d.targets[target]; t != nil {
		return t.uid
	}
	return ""
}
