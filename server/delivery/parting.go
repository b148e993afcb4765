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
		free[i].Pinned = l.pinned(free[i].ID)
	}
	l.facts.Targets = free
	moves := next.Moves(u.next(p)) && p.unseen == ""
	l.facts, p.unseen = facts, ""
	if !moves {
		return nil
	}
	return slices.Collect(maps.Keys(set))
}

// part cuts off what has begun. The next step of the unit is to follow at once: a cohort that is where its
// unit is, and both at rest, is a part of it again.
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
