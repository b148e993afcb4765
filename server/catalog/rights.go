package catalog

import (
	"maps"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// Rights are which ServiceAccounts of a space have rights there, and what they say of their pods.
type Rights struct {
	// bindings are the accounts of each RoleBinding (NAMESPACE/NAME) and ClusterRoleBinding (/NAME).
	bindings map[string][]string
	// bound counts the bindings of an account, NAMESPACE/NAME, or of all of a namespace,
	// NAMESPACE/*.
	bound map[string]int
	// accounts are those that say something of their pods, by NAMESPACE/NAME.
	accounts map[string]AccountSays
}

// AccountSays is what a ServiceAccount says of its pods.
type AccountSays struct {
	Wish   placement.PodAPI
	Unseen bool // automountServiceAccountToken: false
}

// Say notes what an account says of its pods, and reports whether that is something else.
func (r *Rights) Say(account string, says AccountSays) bool {
	if r.accounts[account] == says {
		return false
	}
	if says == (AccountSays{}) {
		delete(r.accounts, account)
		return true
	}
	if r.accounts == nil {
		r.accounts = map[string]AccountSays{}
	}
	r.accounts[account] = says
	return true
}

// Bind notes whom a binding gives rights to, nobody when it is gone, and returns the accounts that
// got their first or lost their last.
func (r *Rights) Bind(binding string, accounts []string) (changed []string) {
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

// PodAPI is which API the pods of a workload are given.
func (o *Object) podAPI() placement.PodAPI {
	if o.Work == nil || o.Work.Account.Name == "" || o.Work.Account.Given {
		return placement.NoWish
	}
	if a := o.Work.Account; a.Fixed {
		if a.Decided {
			return placement.SpaceAPI
		}
		return placement.NoWish
	}
	api, _ := o.Namespace.PodAPIOf(o.Work.Account)
	return api
}

// PodAPIOf is which API the pods of an account are given in a namespace, and why. The nearest word
// counts: that of their template, of their ServiceAccount, of their Namespace; and then whether the
// account has rights in the space.
func (n *Namespace) PodAPIOf(a placement.PodAccount) (api placement.PodAPI, why string) {
	r, account := &n.Space.Rights, n.Name+"/"+a.Name
	says := r.accounts[account]
	for _, word := range []struct {
		wish placement.PodAPI
		of   string
	}{{a.Wish, "its template"}, {says.Wish, "ServiceAccount " + a.Name}, {n.PodAPI, "its Namespace"}} {
		if word.wish != placement.NoWish {
			return word.wish, word.of + " says so by " + v1alpha1.AnnotationPodAPI
		}
	}
	unseen := says.Unseen
	if a.Mounts != nil {
		unseen = !*a.Mounts
	}
	if unseen || r.bound[account] == 0 && r.bound[n.Name+"/*"] == 0 {
		return placement.NoWish, ""
	}
	return placement.SpaceAPI, "ServiceAccount " + a.Name + " is bound to rights in this space"
}

// PodAPISays is what the annotation of a workload should say of its pods' API; nothing where nobody
// has decided anything. Jobs and Pods have a mark of their own, from when they were made.
func (o *Object) PodAPISays() string {
	a := o.Work.Account
	if a.Name == "" || a.Given || a.Fixed {
		return ""
	}
	api, why := o.Namespace.PodAPIOf(a)
	if api == placement.NoWish {
		return ""
	}
	return api.String() + ": " + why
}

// SayPodAPI has a workload's annotation written when it is not right. The lock must be held.
func (c *Catalog) SayPodAPI(o *Object) {
	if o.Work != nil && o.Present && !o.Leaving && !o.Finished && o.Work.Said != o.PodAPISays() {
		c.Says.Add(o.Key())
	}
}
