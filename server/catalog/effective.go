package catalog

import (
	"strings"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Advance tells those who wait for a revision that it has been applied. The lock must be held.
func (c *Catalog) Advance(revision int64) {
	c.Revision = max(c.Revision, revision)
	if c.SeenAt < c.Revision {
		c.SeenAt = c.Revision
		close(c.Applied)
		c.Applied = make(chan struct{})
	}
}

// Effective tells which targets an object is on: where it is placed, as far as the release of the target
// has it.
func (c *Catalog) Effective(o *Object) *Set { return c.released(o, c.placed(o)) }

// placed tells where an object is placed: as its record says, wherever a workload that names it is, and
// wherever what it goes along with is.
// Namespaces and CustomResourceDefinitions are where anything of theirs is.
func (c *Catalog) placed(o *Object) *Set {
	if !o.Present {
		return nil
	}
	switch o.Kind.Order {
	case store.ClassRule:
		if o.Leaving {
			return nil
		}
		return c.ruleTargets(o, c.everywhere(nil, o.Namespace.Space.Here))
	case store.ClassCRD:
		if o.Leaving {
			return nil
		}
		return c.defines(o)
	case store.ClassNamespace:
		n := o.Namespace.Space.Namespaces[o.Name]
		if o.Leaving {
			return c.everywhere(nil, n.Here)
		}
		return c.everywhere(c.Sets.Union(n.Group.Record, c.KeptFor(n)), n.Here)
	}
	if o.Rights() {
		return c.atSites(o)
	}
	if o.Leaving {
		return nil
	}
	if o.Finished {
		return c.RecordOf(o)
	}
	on := c.along(o, c.where(o))
	if o.Work != nil {
		for _, w := range o.Work.NamedBy {
			if w.BringsDependencies() {
				on = c.Sets.Union(on, c.Sets.Union(brings(c, w), doorsOf(w)))
			}
		}
	}
	return on
}

// brings is where an object has what it names be. A ServiceAccount is where others need it.
func brings(c *Catalog, o *Object) *Set {
	if o.Source == nil {
		return c.placed(o)
	}
	return c.along(o, c.where(o))
}

// where is effective without what other workloads need.
func (c *Catalog) where(o *Object) *Set {
	if o.Source == nil || !o.Present || o.Leaving {
		return nil
	}
	if o.Finished {
		return nil // what it names is not needed any more
	}
	return c.RecordOf(o)
}

func (c *Catalog) everywhere(on *Set, here map[*Set]int) *Set {
	var extra *Set
	for s := range here {
		extra = c.Sets.Union(extra, s)
	}
	if extra == nil {
		return on
	}
	return c.Sets.Union(on, c.Sets.Of(placement.Union(nil, extra.Names)))
}

// Upsyncs go to the targets of the Placement whose name they have, where those have anything of the
// space. At a relay those of its parent go wherever anything of their space is: the parent has chosen
// the relay. See package upsync.

// ruleTargets is where a rule is, of the targets that have anything of its space.
func (c *Catalog) ruleTargets(o *Object, here *Set) *Set {
	above, is := o.Namespace.Space.Upsyncs[o]
	if !is || above {
		return here
	}
	if b := o.Namespace.Space.Placements[o.Name]; b != nil {
		return c.Sets.Both(here, b.Group.Record)
	}
	return nil
}

// defines is where a CustomResourceDefinition is: where anything of its space is, or of a space
// that borrows its group, besides Namespaces and what goes without what it needs.
func (c *Catalog) defines(o *Object) *Set {
	if o.Stays {
		return nil
	}
	on := c.everywhere(nil, o.Namespace.Space.Uses)
	_, group, _ := strings.Cut(o.Name, ".")
	for borrower := range o.Namespace.Space.LentTo {
		if borrower.Borrows[group] == o.Namespace.Space.Name {
			on = c.everywhere(on, borrower.Uses)
		}
	}
	return on
}

// A definition that says so (skerry.dev/placement: None) is on no target, and neither are its custom
// resources: their controller is in the space. Nobody decides about them then. What that controller
// makes of them is placed as anything else. In a space that borrows the definition it is the same.

// DefinitionKey is the key of what defines a kind in a space.
func DefinitionKey(space, group, resource string) store.Key {
	return store.Key{
		Space: space, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
		Name: resource + "." + group,
	}
}

// StaysInSpace reports whether the definition of a kind keeps its objects in their space.
func (c *Catalog) StaysInSpace(sp *Space, group, resource string) bool {
	if !strings.Contains(group, ".") {
		return false // one of Kubernetes
	}
	o := c.Find(DefinitionKey(sp.definer(group), group, resource))
	return o != nil && o.Stays
}

// definer is the space whose definitions of a group serve this one.
func (sp *Space) definer(group string) string {
	if lender, borrows := sp.Borrows[group]; borrows {
		return lender
	}
	return sp.Name
}

// Conditions are what the definition of an object says of its conditions. The lock must be held.
func (c *Catalog) Conditions(o *Object) placement.GoodConditions {
	sp := c.Spaces[o.Namespace.Space.definer(o.Kind.Group)]
	if sp == nil || len(sp.Conditions) == 0 {
		return nil
	}
	return sp.Conditions[o.Kind.Resource+"."+o.Kind.Group]
}

// Stays reports whether an object is a definition that stays in its space, or is of one.
func (c *Catalog) Stays(o *Object) bool {
	return o.Stays || c.StaysInSpace(o.Namespace.Space, o.Kind.Group, o.Kind.Resource)
}
