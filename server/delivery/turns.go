package delivery

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

const (
	// turnGather is how long units that are to leave a drained target gather before the first begins, so that
	// they leave in order.
	turnGather = 100 * time.Millisecond
	// turnAgain is after how long a unit that waits for a turn is looked at again, whatever happens.
	turnAgain = time.Minute
)

// turns are the units that leave drained targets, and those that wait until others have left. The goroutine
// that decides alone has them. What leaves is found in the records after a restart.
type turns struct {
	catalog *catalog.Catalog
	leaving map[departure]string // the target that each goes to
	waiting map[string]map[catalog.Ref]placement.Turn
	known   map[string]struct{} // targets whose records were read
}

// departure is a unit that leaves a target.
type departure struct {
	from string
	unit catalog.Ref
}

func newTurns(c *catalog.Catalog) *turns {
	return &turns{c, map[departure]string{}, map[string]map[catalog.Ref]placement.Turn{}, map[string]struct{}{}}
}

// next is the next state of a unit's record, in which it begins to leave drained targets in its turn. Where
// it is to be looked at again, once others have gathered, plan.gathers is set.
func (u *turns) next(p *plan) binding.Record {
	next, l := p.next(), p.look
	for i := range l.facts.Targets {
		t := &l.facts.Targets[i]
		k := departure{l.names[t.ID], p.ref}
		if p.unseen != "" || !l.drains(k.from) || l.record.Leaves(t.ID) {
			continue
		}
		t.Queued = true
		held := binding.Next(l.record, l.facts)
		if held.Equal(next) { // it does not begin now
			t.Queued = false
			continue
		}
		p.turns = append(p.turns, k.from)
		why, gathered := u.take(k, p.turn(next, t.ID))
		if t.Queued = why != "" || !gathered; t.Queued {
			next, p.turned, p.gathers = held, why, p.gathers || !gathered
		}
	}
	return next
}

// follow takes over what became of the turns of a unit.
func (u *turns) follow(p *plan, next binding.Record) {
	l := p.look
	for i := range l.facts.Targets {
		t := l.facts.Targets[i].ID
		if k := (departure{l.names[t], p.ref}); l.drains(k.from) && next.Leaves(t) {
			u.leaving[k] = l.names[p.joins(next, t)]
		} else {
			u.end(k)
		}
	}
	u.endWaits(p.ref, p.turns)
	if p.turned != "" {
		u.catalog.Groups.AddAfter(p.ref, turnAgain)
	}
}

// drains reports whether a target is drained, or removed, so that units leave it in turn.
func (l *look) drains(target string) bool {
	return slices.ContainsFunc(l.left, func(v placement.Verdict) bool {
		why := placement.LeaveReason(v.Filter)
		return v.Target == target && (why == placement.LeaveDrained || why == placement.LeaveRemoved)
	})
}

// turn is what decides when a unit begins to leave a target as in next.
func (p *plan) turn(next binding.Record, t binding.TargetID) placement.Turn {
	l := p.look
	return placement.Turn{Key: p.key, To: l.names[p.joins(next, t)], Elsewhere: len(l.record.Here()) - 1,
		Single: l.facts.BreakFirst || l.facts.Once || l.facts.Singles, Objects: len(l.asked)}
}

// joins is the target that comes in place of another one: the first that lacks it, where the unit is removed first.
func (p *plan) joins(next binding.Record, t binding.TargetID) binding.TargetID {
	for _, place := range next.Places {
		if place.For == t && !place.Off {
			return place.Target
		}
	}
	for _, w := range p.look.facts.Wanted {
		if !next.Has(w) {
			return w
		}
	}
	return 0
}

// take has a unit begin to leave a target, or says why it waits. It reports false for a unit that is to
// wait until others have gathered.
func (u *turns) take(k departure, turn placement.Turn) (why string, gathered bool) {
	if _, begun := u.leaving[k]; begun {
		return "", true
	}
	under := u.leavingFrom(k.from)
	waiting := u.waiting[k.from]
	if waiting == nil {
		waiting = map[catalog.Ref]placement.Turn{}
		u.waiting[k.from] = waiting
	}
	_, gathered = waiting[k.unit]
	waiting[k.unit] = turn
	if why := under.Full(turn); why != "" {
		return why, true
	}
	if !gathered {
		return "", false
	}
	if may := under.Turns(slices.Collect(maps.Values(waiting))); !slices.Contains(may, turn) {
		return "waits for a turn: others leave " + k.from + " first", true
	}
	delete(waiting, k.unit)
	u.leaving[k] = turn.To
	return "", true
}

// leavingFrom is what is under way from a target. A unit that is deleted does not count.
func (u *turns) leavingFrom(from string) placement.Leaving {
	u.catalog.Lock()
	defer u.catalog.Unlock()
	l := placement.Leaving{From: from, Limit: placement.MaxLeaving, Arriving: map[string]int{}}
	if t := u.catalog.Targets[from]; t != nil {
		l.Limit = cmp.Or(t.MaxConcurrent, l.Limit)
		if _, known := u.known[from]; !known {
			u.known[from] = struct{}{}
			u.recall(from, t.ID)
		}
	}
	maps.DeleteFunc(u.leaving, func(k departure, to string) bool {
		if u.catalog.Group(k.unit) == nil {
			return true
		}
		if l.Arriving[to]++; k.from == from {
			l.Units++
		}
		return false
	})
	return l
}

// recall finds the units that have begun to leave a target before this center started. The lock must be held.
func (u *turns) recall(from string, t binding.TargetID) {
	u.catalog.EachUnitOn(from, func(g *catalog.Group) {
		b, _ := u.catalog.Records.Index.Binding(g.ID())
		for _, p := range b.Places {
			if p.For == t && !p.Off {
				u.leaving[departure{from, g.Ref()}] = u.catalog.Records.Targets.Of(p.Target).Name
			}
		}
	})
}

// end has others take the place of a unit that leaves a target no more.
func (u *turns) end(k departure) {
	if _, begun := u.leaving[k]; begun {
		delete(u.leaving, k)
		u.call()
	}
}

// endWaits forgets that a unit waits, but for some targets.
func (u *turns) endWaits(unit catalog.Ref, but []string) {
	for from, waiting := range u.waiting {
		if _, waits := waiting[unit]; waits && !slices.Contains(but, from) {
			delete(waiting, unit)
			u.call()
		}
	}
}

// call looks again at the units that may begin to leave.
func (u *turns) call() {
	for from, waiting := range u.waiting {
		if len(waiting) == 0 {
			delete(u.waiting, from)
			continue
		}
		may := u.leavingFrom(from).Turns(slices.Collect(maps.Values(waiting)))
		for unit, turn := range waiting {
			if slices.Contains(may, turn) {
				u.catalog.Groups.Add(unit)
			}
		}
	}
}

// forget drops a unit that is gone.
func (u *turns) forget(unit catalog.Ref) {
	for k := range u.leaving {
		if k.unit == unit {
			u.end(k)
		}
	}
	u.endWaits(unit, nil)
}
