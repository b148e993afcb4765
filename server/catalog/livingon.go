package catalog

import (
	"skerry.dev/skerry/store"
)

// What a workload owns lives on at its targets when the workload is deleted with orphan. A target ends
// it with its Namespace, so the Namespace stays: the annotation skerry.dev/dependents says where. It is
// written before the workload's finalizer goes, so that no restart forgets it.

// LivesOn is what a Namespace keeps of deleted workloads.
type livesOn struct {
	Written *Set             // as the annotation says
	Stored  *Set             // the same, by the names that targets have now
	Owners  map[*Object]*Set // workloads whose deletion has begun, with the targets that they were on
}

// KeptFor is where a Namespace stays for what lives on: targets that the space may use and that are not
// being removed. The lock must be held.
func (c *Catalog) KeptFor(n *Namespace) *Set {
	all := n.LivesOn.Stored
	for _, on := range n.LivesOn.Owners {
		all = c.Sets.Union(all, on)
	}
	var names []string
	for _, name := range all.List() {
		if t := c.Targets[name]; t != nil && !t.Removing && offers(n.Space, t.Target) {
			names = append(names, name)
		}
	}
	return c.Sets.Of(names)
}

// RenameLivesOn has what lives on at a target follow its new name.
func (c *Catalog) RenameLivesOn(from, to string) {
	renamed := func(on *Set) *Set {
		if !on.Has(from) {
			return on
		}
		return c.Sets.Union(c.Sets.Minus(on, c.Sets.Of([]string{from})), c.Sets.Of([]string{to}))
	}
	for _, sp := range c.Spaces {
		for _, n := range sp.Namespaces {
			for o, on := range n.LivesOn.Owners {
				n.LivesOn.Owners[o] = renamed(on)
			}
			n.LivesOn.Stored = renamed(n.LivesOn.Stored)
		}
	}
}

// LivesOnChanged reports whether the annotation of a Namespace is to be written. The lock must be held.
func (c *Catalog) LivesOnChanged(o *Object) bool {
	if o.Kind.Order != store.ClassNamespace {
		return false
	}
	n := o.Namespace.Space.Namespaces[o.Name]
	return n != nil && c.KeptFor(n) != n.LivesOn.Written
}
