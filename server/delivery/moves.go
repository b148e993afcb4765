package delivery

import (
	"cmp"
	"slices"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// Moves lists the groups that are not where they should be, and the objects that pass from one to
// another, the longest of them first. Those whose
// time does not run come last.
func (d *Delivery) Moves() []placement.Moving {
	d.catalog.Lock()
	out := make([]placement.Moving, 0, len(d.catalog.Moves))
	for r, m := range d.catalog.Moves {
		if d.catalog.Group(r) == nil { // what it was is deleted
			delete(d.catalog.Moves, r)
			continue
		}
		out = append(out, m)
	}
	for _, p := range d.catalog.Passes {
		out = append(out, p.Move)
	}
	d.catalog.Unlock()
	slices.SortFunc(out, func(a, b placement.Moving) int {
		if a.Since.IsZero() != b.Since.IsZero() {
			if a.Since.IsZero() {
				return 1
			}
			return -1
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key.Encode(), b.Key.Encode()))
	})
	return out
}

// underWay takes over what the next step of a group is, and tells of its targets when that is news.
func (d *Delivery) underWay(p *plan, step placement.Step) {
	switch step.Phase {
	case placement.Settled, placement.Finishing:
		if !d.cannotLeave(p) {
			d.settled(p.ref)
		}
		return
	}
	m := placement.Moving{
		Key:     p.key,
		From:    placement.Union(p.names(p.look.record.Here()), p.look.awayLeft()),
		To:      p.choice.Targets,
		Since:   step.Since,
		Phase:   step.Phase,
		Message: step.Message,
	}
	if step.Phase == placement.Staying && placement.Same(m.From, m.To) {
		d.settled(p.ref)
		return
	}
	d.catalog.Lock()
	before, was := d.catalog.Moves[p.ref]
	d.catalog.Moves[p.ref] = m
	catalog.Restop(d.catalog, p.look.ending(d.catalog)...)
	d.catalog.Unlock()
	if !was || before.Phase != m.Phase || before.Message != m.Message || !slices.Equal(before.From, m.From) ||
		!slices.Equal(before.To, m.To) {
		d.TellMoves(before.From, before.To, m.From, m.To)
	}
}

// settled drops the move of a group.
func (d *Delivery) settled(r catalog.Ref) {
	d.catalog.Lock()
	before, was := d.catalog.Moves[r]
	delete(d.catalog.Moves, r)
	catalog.Restop(d.catalog)
	d.catalog.Unlock()
	if was {
		d.TellMoves(before.From, before.To)
	}
}

// MovesOf lists the moves that lead from or to a target: what has still to arrive there or to
// leave.
func (d *Delivery) MovesOf(target string) (out []placement.Moving) {
	for _, m := range d.Moves() {
		if slices.Contains(m.From, target) != slices.Contains(m.To, target) {
			out = append(out, m)
		}
	}
	return out
}
