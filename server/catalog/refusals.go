package catalog

import "skerry.dev/skerry/server/placement"

// Refusals fills in which targets refuse Pods of a group. It looks at each member, so that a decision asks
// for it only where it can matter. The lock must be held.
func Refusals(c *Catalog, w *placement.World, g *Group) {
	var needs placement.SecurityNeeds
	g.Members(func(o *Object) bool {
		if o.Work != nil {
			needs[o.Work.Security]++
		}
		return true
	})
	for i := range w.Targets {
		t := &w.Targets[i]
		level := c.Targets[t.Name].PodSecurity(g.Space.Name)
		t.Refuses = placement.Refusal{Level: level, Workloads: needs.Refused(level)}
	}
}

// levelsDiffer reports whether some targets keep the Pods of a space to another Pod Security level than
// others. The lock must be held.
func levelsDiffer(c *Catalog, space string) bool {
	first, known := "", false
	for _, t := range c.Targets {
		if t.Emptied {
			continue
		}
		level := t.PodSecurity(space)
		if known && level != first {
			return true
		}
		first, known = level, true
	}
	return false
}
