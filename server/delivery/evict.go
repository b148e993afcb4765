package delivery

import (
	"slices"
	"time"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// haltedPause is how long a group that would have to leave a target waits while more than half of all
// targets are away.
const haltedPause = time.Minute

// leaveTarget looks at all that is on a target whose time to be away is over.
func (d *Delivery) leaveTarget(name string) {
	d.catalog.Lock()
	d.catalog.EachUnitOn(name, func(g *catalog.Group) { d.catalog.Enqueue(g) })
	d.catalog.Unlock()
	d.TellMoves([]string{name})
}

// choose fills in where the group of a plan should be, and what cannot leave. The lock must be held.
func (d *Delivery) choose(p *plan, wish placement.Wish, world placement.World, current []string) {
	v := placement.Vacate(wish, world, current, d.terms(p, world, current), time.Now())
	d.catalog.NoRoom(p.ref, v)
	p.choice, p.stays, p.gone = v.Choice, v.Stays, v.Gone
	switch {
	case !v.Next.IsZero():
		d.catalog.Groups.AddAfter(p.ref, max(time.Until(v.Next), time.Second))
	case len(v.Halted) > 0:
		d.catalog.Groups.AddAfter(p.ref, haltedPause)
	}
}

// terms are how the group of a plan leaves targets. The lock must be held.
func (d *Delivery) terms(p *plan, world placement.World, current []string) (terms placement.Terms) {
	if r := p.group.Rule(); r != nil {
		terms = r.Terms(world)
	}
	terms.Load, terms.Overflows, terms.Evict = d.catalog.Load(p.group), d.catalog.Overflows(p.ref, current), p.group.Evict
	terms.Unfenced = d.unfenced(p.group, current)
	return terms
}

// cannotLeave records that a group has to leave targets and stays, and reports whether that is so.
func (d *Delivery) cannotLeave(p *plan) bool {
	if len(p.stays) == 0 {
		return false
	}
	m := placement.Moving{Key: p.key, Phase: placement.CannotLeave, Message: p.choice.Message,
		Reason: p.stays[0].Reason}
	for _, s := range p.stays {
		m.From = append(m.From, s.Target)
	}
	d.catalog.Lock()
	before, was := d.catalog.Moves[p.ref]
	d.catalog.Moves[p.ref] = m
	catalog.Restop(d.catalog)
	d.catalog.Unlock()
	if !was || before.Phase != m.Phase || before.Message != m.Message || !slices.Equal(before.From, m.From) {
		d.TellMoves(before.From, before.To, m.From)
	}
	return true
}

// Remaining returns what is left on a target that workloads have to leave. It reports false for
// others.
func (d *Delivery) Remaining(target string) (placement.Remaining, bool) {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	t := d.catalog.Targets[target]
	if t == nil {
		return placement.Remaining{}, false
	}
	now := time.Now()
	l, must := t.Leave(nil)
	if !must || l.At.After(now) {
		return placement.Remaining{}, false
	}
	r := placement.Remaining{Why: l.Reason, Units: d.catalog.UnitsOn(target)}
	if l.Reason.Automatic() {
		r.Halted = placement.Halted(d.catalog.AllTargets(), now)
	}
	for o := range d.catalog.Finished {
		if o.On.Has(target) {
			r.Ended++
		}
	}
	return r, true
}

// mustLeave reports whether a target has to be left, whatever the wish.
func mustLeave(v placement.Verdict) bool {
	switch placement.LeaveReason(v.Filter) {
	case placement.LeaveRemoved, placement.LeaveDiscarded, placement.LeaveDrained, placement.LeaveOutOfService,
		placement.LeaveTainted,
		placement.LeaveEvicted, placement.LeaveOverflow, placement.LeaveAway:
		return true
	}
	return false
}
