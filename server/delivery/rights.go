package delivery

import (
	"maps"
	"strings"

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
		for _, account := range sp.rights.bind(w.Key.Namespace+"/"+w.Key.Name, placement.Bound(w.Object)) {
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
		if o.work != nil && o.work.account.Name != "" && (name == "*" || o.work.account.Name == name) {
			s.d.remark(o)
		}
	}
}

// podAPI is which API the pods of a workload are given. The nearest word counts: that of their
// template, of their ServiceAccount, of their Namespace; and then whether the account has rights in
// the space.
func (o *object) podAPI() placement.PodAPI {
	if o.work == nil || o.work.account.Name == "" || o.work.account.Given {
		return placement.NoWish
	}
	a, r := o.work.account, &o.ns.space.rights
	account := o.ns.name + "/" + a.Name
	says := r.accounts[account]
	for _, wish := range []placement.PodAPI{a.Wish, says.wish, o.ns.podAPI} {
		if wish != placement.NoWish {
			return wish
		}
	}
	unseen := says.unseen
	if a.Mounts != nil {
		unseen = !*a.Mounts
	}
	if unseen || r.bound[account] == 0 && r.bound[o.ns.name+"/*"] == 0 {
		return placement.NoWish
	}
	return placement.SpaceAPI
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
		here = here || o.mark != nil && o.mark.api == placement.SpaceAPI
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
