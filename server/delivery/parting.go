package delivery

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// A Job that has begun runs to its end where it is. The rest of its unit does not wait for that: the Job is
// cut off, as a cohort that passes to its own unit when nothing of it runs any more.

// parting returns what has begun in a unit, if all that the rest waits for is its end.
func (u *turns) parting(p *plan, next binding.Record) []store.Key {
	l := p.look
	if p.ref.Kind == catalog.OfObject || l.record.Moves(next) || p.unseen != "" {
		return nil
	}
	set := map[store.Key]struct{}{}
	for _, t := range l.record.Here() {
		for _, k := range l.begun[t] {
			set[k] = struct{}{}
		}
	}
	if len(set) == 0 || len(set) == len(l.asked) {
		return nil
	}
	facts := l.facts
	free := slices.Clone(facts.Targets)
	for i := range free {
		free[i].Pinned = l.pinned(free[i].ID) || len(l.runningOn(free[i].ID)) > 0
	}
	l.facts.Targets = free
	moves := next.Moves(u.next(p)) && p.unseen == ""
	l.facts, p.unseen = facts, ""
	if !moves {
		return nil
	}
	return slices.Collect(maps.Keys(set))
}

// part cuts off what has begun. It is a part of its unit again when nothing of it runs any more, and both are at the
// same places.
func (d *Delivery) part(ctx context.Context, begun []store.Key) error {
	d.setParting(begun, true)
	defer d.setParting(begun, false)
	for _, k := range begun {
		if err := d.passObject(ctx, k); err != nil {
			return err
		}
	}
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	for o := range d.catalog.Parting {
		if d.catalog.Records.Of(o).Cohort == 0 {
			return fmt.Errorf("cut off %s: %w", o.Key(), errNotYet)
		}
	}
	return nil
}

// restart notes the targets that are drained and whose Jobs are not waited for (spec.drain.jobs), if all that
// the record decides about runs to an end: it leaves them before it begins elsewhere. What else is in its unit
// moves without it, see parting. The lock must be held.
func (l *look) restart(c *catalog.Catalog) {
	if l.facts.Ended || len(l.asked) == 0 || slices.ContainsFunc(l.asked, func(q question) bool { return !q.ends }) {
		return
	}
	for _, p := range l.record.Places {
		is := c.Records.Targets.Of(p.Target)
		if t := c.Targets[is.Name]; t == nil || t.UID != is.UID || !t.Restarts() {
			continue
		}
		if l.restarts == nil {
			l.restarts = map[binding.TargetID]struct{}{}
		}
		l.restarts[p.Target], l.facts.BreakFirst = struct{}{}, true
	}
}

// leaveRestarting has a record leave the targets on which what has begun is stopped: it does not return there.
func (l *look) leaveRestarting() {
	for i := range l.facts.Targets {
		t := &l.facts.Targets[i]
		if _, restarts := l.restarts[t.ID]; restarts && !slices.Contains(l.facts.Wanted, t.ID) {
			t.Leave = max(t.Leave, binding.Drain)
		}
	}
}

// waitsFor reports whether a record stays on a target until what has begun there has ended.
func (l *look) waitsFor(t binding.TargetID) bool {
	_, restarts := l.restarts[t]
	return len(l.begun[t]) > 0 && !restarts
}

// ending are the objects of a look that run to an end. The lock must be held.
func (l *look) ending(c *catalog.Catalog) (out []*catalog.Object) {
	for _, q := range l.asked {
		if !q.ends {
			continue
		}
		if o := c.Find(q.key); o != nil {
			out = append(out, o)
		}
	}
	return out
}

// stops reports whether what has begun would be stopped in this step.
func (l *look) stops() bool {
	return len(l.restarts) > 0 && !slices.ContainsFunc(l.record.Places, func(p binding.Place) bool { return p.Off })
}

func (d *Delivery) setParting(begun []store.Key, is bool) {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	d.catalog.Parting = nil
	if !is {
		return
	}
	d.catalog.Parting = map[*catalog.Object]struct{}{}
	for _, k := range begun {
		if o := d.catalog.Find(k); o != nil {
			d.catalog.Parting[o] = struct{}{}
		}
	}
}
