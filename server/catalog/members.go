package catalog

import (
	"slices"

	"skerry.dev/skerry/server/binding"
)

// Three indexes say which objects are near a Placement: those that its wish is for, those whose stamp is
// its unit, and those of the cohorts that pass to it. So a decision costs what the Placement selects and
// not what its space has.

// WishedBy notes whose wish an object is for, nil for nobody's.
func (o *Object) WishedBy(g *Group) {
	if o.Source != nil && o.Source.Kind == OfPlacement {
		delete(o.Source.Book.Objects, o)
	}
	if o.Source = g; g != nil && g.Kind == OfPlacement {
		g.Book.Objects[o] = struct{}{}
	}
}

// BeWith takes over the stamp of an object. Units of an object and of its Namespace need no index.
func (o *Object) BeWith(u *Unit) {
	if o.With != nil {
		delete(o.With.objects, o)
	}
	o.With = u
	if u == nil || u.ID == binding.UnitID(o.UID) ||
		o.Namespace.Self != nil && u.ID == binding.UnitID(o.Namespace.Self.UID) {
		return
	}
	if u.objects == nil {
		u.objects = map[*Object]struct{}{}
	}
	u.objects[o] = struct{}{}
}

// Contend notes the Placements that select an object and have lost it to an older one, which has it next.
// All of them say so, see contested.
func (c *Catalog) Contend(o *Object, next *Group, losers []*Rulebook) {
	sp := o.Namespace.Space
	was := sp.Overlaps[o]
	if slices.Equal(was, losers) && (len(was) == 0 || next == o.Source) {
		return
	}
	for _, g := range []*Group{o.Source, next} {
		if g != nil && g.Kind == OfPlacement {
			c.Enqueue(g)
		}
	}
	for _, b := range was {
		delete(b.Lost, o)
		c.Enqueue(&b.Group)
	}
	if delete(sp.Overlaps, o); len(losers) > 0 {
		sp.Overlaps[o] = losers
	}
	for _, b := range losers {
		b.Lost[o] = struct{}{}
		c.Enqueue(&b.Group)
	}
}

// Wished visits the objects that the group's wish is for.
func (g *Group) Wished(visit func(*Object)) {
	switch g.Kind {
	case OfNamespace:
		g.Namespace.each(func(o *Object) {
			if o.Source == g {
				visit(o)
			}
		})
	case OfObject:
		if g.Object.Present && g.Object.Source == g {
			visit(g.Object)
		}
	case OfPlacement:
		for o := range g.Book.Objects {
			if o.Present {
				visit(o)
			}
		}
	}
}

// Members calls visit for each object that the group's wish is for and that has not ended, until it
// returns false.
func (g *Group) Members(visit func(*Object) bool) {
	going := true
	g.Wished(func(o *Object) {
		if going && !o.Leaving && !o.Finished {
			going = visit(o)
		}
	})
}

// Each visits all objects that the group's wish can be for, and those that may be with its unit. The lock
// must be held.
func (c *Catalog) Each(g *Group, visit func(*Object)) {
	switch g.Kind {
	case OfNamespace:
		g.Namespace.each(visit)
	case OfObject:
		if g.Object.Present {
			visit(g.Object)
		}
	case OfPlacement:
		g.Wished(visit)
		c.with(g.ID(), func(o *Object) {
			if o.Source != g {
				visit(o)
			}
		})
	}
}

// with visits all objects that may be with the unit of a Placement. The lock must be held.
func (c *Catalog) with(id binding.UnitID, visit func(*Object)) {
	seen := map[*Object]struct{}{}
	once := func(objects map[*Object]struct{}) {
		for o := range objects {
			if _, is := seen[o]; !is && o.Present {
				seen[o] = struct{}{}
				visit(o)
			}
		}
	}
	if u := c.Records.Units[id]; u != nil {
		once(u.objects)
	}
	for co := range c.Records.towards[id] {
		once(co.Objects)
	}
}

// GroupOf is the group of the Placement that is a unit, nil when there is none.
func (sp *Space) GroupOf(id binding.UnitID) *Group {
	if sp == nil || id == "" {
		return nil
	}
	for _, b := range sp.Placements {
		if b.Group.ID() == id {
			return &b.Group
		}
	}
	return nil
}

// Around visits all objects that may be with a unit, and those that may wait for its Binding. The lock
// must be held.
func (c *Catalog) Around(u *Unit, g *Group, visit func(*Object)) {
	switch {
	case !isPlacement(u.Of):
		c.scope(u.Stored, visit)
	case g != nil:
		c.Each(g, visit)
	default:
		c.with(u.ID, visit)
	}
}

// each visits all objects of a namespace.
func (n *Namespace) each(visit func(*Object)) {
	for _, o := range n.Objects {
		if o.Present {
			visit(o)
		}
	}
}

// Deserted reports whether no object is with the unit of a group. The lock must be held.
func (c *Catalog) Deserted(g *Group) bool {
	unit, has := binding.Ref{Unit: g.ID()}, false
	c.Each(g, func(o *Object) { has = has || !o.Leaving && c.Records.Of(o) == unit })
	return !has
}

// Inhabited reports whether something is in a namespace that follows it. The lock must be held.
func (c *Catalog) Inhabited(g *Group) (yes bool) {
	g.Members(func(*Object) bool { yes = true; return false })
	return yes
}
