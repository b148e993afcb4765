package delivery

import (
	"slices"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// chooseAgain chooses other targets for a plan in place of those that were given up, as long as nothing is new
// about these. Where there are none, the choice stays as it is: then it is said what was not ready. The lock
// must be held.
func (d *Delivery) chooseAgain(
	p *plan, wish placement.Wish, world placement.World, current []string, try func(*catalog.Target) uint64,
) {
	r := p.look.record
	closed, wanted := map[string]string{}, false
	for _, g := range r.GaveUp {
		is := d.catalog.Records.Targets.Of(g.Target)
		t := d.catalog.Targets[is.Name]
		if t == nil || t.UID != is.UID || connected(r, g.Target, t, try(t)) != g.Try {
			continue
		}
		closed[is.Name] = "it was not ready in time"
		wanted = wanted || slices.Contains(p.choice.Targets, is.Name)
		p.look.facts.Passed = append(p.look.facts.Passed, g.Target)
	}
	if !wanted {
		if p.instead = len(closed) > 0 && !r.Settled(); !p.instead {
			p.look.facts.Passed = nil // it is where it is wished, without them
		}
		return
	}
	v := placement.Vacate(wish, world.Shutting(closed), current, d.terms(p, world, current), time.Now())
	if !slices.ContainsFunc(v.Targets, func(name string) bool {
		return !slices.Contains(current, name) && !slices.Contains(p.choice.Targets, name)
	}) {
		return
	}
	p.choice, p.stays, p.gone, p.instead = v.Choice, v.Stays, v.Gone, true
}

// passedOver says which targets others are chosen in place of, empty for none.
func (p *plan) passedOver(next binding.Record) string {
	if !p.instead || len(next.GaveUp) == 0 {
		return ""
	}
	var names []string
	for _, g := range next.GaveUp {
		names = append(names, p.look.names[g.Target])
	}
	return "; in place of " + placement.Join(names) + ", not ready in time"
}
