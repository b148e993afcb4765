package catalog

import (
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// SortRules brings the understood Placements of a space into the order in which they decide.
func (sp *Space) SortRules() {
	sp.Rules = sp.Rules[:0]
	for _, b := range sp.Placements {
		if b.Rule != nil {
			sp.Rules = append(sp.Rules, b.Rule)
		}
	}
	placement.Sort(sp.Rules)
}

// Enqueue lets the decision writer look at a group.
func (c *Catalog) Enqueue(g *Group) {
	g.Wakes++
	g.Rests = false
	c.Groups.Add(g.Ref())
}

// WakeCohorts lets the decision writer look at all objects of a space that are on their way.
func (c *Catalog) WakeCohorts(sp *Space) {
	for _, open := range c.Records.Open {
		for co := range open {
			if co.Space == sp.Name {
				c.Groups.Add(CohortRef(sp.Name, co.Seq))
			}
		}
	}
}

// Wake lets the decision writer look at what a write of an object may have changed.
func (c *Catalog) Wake(o *Object, labelled bool) {
	switch {
	case o.Kind.Order == store.ClassNamespace:
		c.Enqueue(&o.Namespace.Space.Namespaces[o.Name].Group)
	case o.Source == nil:
	case o.Source.Kind == OfObject, o.Source.Record == nil, o.Source.Moving, o.Source.GaveUp:
		c.Enqueue(o.Source)
	case o.Source.Kind == OfPlacement && labelled:
		c.Enqueue(o.Source)
	}
	if r := c.Records.Of(o); r.Cohort != 0 {
		c.Groups.Add(CohortRef(o.Namespace.Space.Name, r.Cohort))
	}
	c.wakeNaming(o)
}

// WakeMoving lets the decision writer look at what decides about an object that is on its way. The lock must
// be held.
func (c *Catalog) WakeMoving(o *Object) {
	if r := c.Records.Of(o); r.Cohort != 0 {
		c.Groups.Add(CohortRef(o.Namespace.Space.Name, r.Cohort))
	} else if o.Source != nil && o.Source.Moving {
		c.Groups.Add(o.Source.Ref())
	}
}

// WakeAll looks at all groups and cohorts again. The lock must be held.
func (c *Catalog) WakeAll() {
	for _, sp := range c.Spaces {
		c.WakeSpace(sp)
	}
}

// WakeSpace lets the decision writer look at every group of a space.
func (c *Catalog) WakeSpace(sp *Space) {
	c.wakeGroups(sp, func(*Group) bool { return true })
}

// wakeGroups lets the decision writer look at those groups of a space that are meant.
func (c *Catalog) wakeGroups(sp *Space, meant func(*Group) bool) {
	wake := func(g *Group) {
		if meant(g) {
			c.Enqueue(g)
		}
	}
	c.WakeCohorts(sp)
	for _, n := range sp.Namespaces {
		if n.Self != nil {
			wake(&n.Group)
		}
	}
	for _, b := range sp.Placements {
		wake(&b.Group)
	}
	sp.EachObject(func(o *Object) {
		if o.Source != nil && o.Source.Kind == OfObject {
			wake(o.Source)
		}
	})
}

// Reconsider looks again at all that targets were given up for, that may return, or that moves: one is there
// again. What is being decided at this moment moves, too. The lock must be held.
func (c *Catalog) Reconsider() {
	for _, sp := range c.Spaces {
		c.wakeGroups(sp, func(g *Group) bool { return g.GaveUp || g.Moving || g.returns() })
	}
}

// wakeNaming looks again at the groups that name an object, if they gave a target up. The lock must be
// held.
func (c *Catalog) wakeNaming(o *Object) {
	if o.Work == nil {
		return
	}
	for _, w := range o.Work.NamedBy {
		if w.Source != nil && (w.Source.GaveUp || w.Source.Moving) {
			c.Enqueue(w.Source)
		}
		if r := c.Records.Of(w); r.Cohort != 0 {
			c.Groups.Add(CohortRef(w.Namespace.Space.Name, r.Cohort))
		}
	}
}
