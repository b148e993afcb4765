package delivery

import (
	"cmp"
	"slices"

	"skerry.dev/skerry/server/placement"
)

// Moves lists the groups that are not where they should be, the longest of them first. Those whose
// time does not run come last.
func (d *Delivery) Moves() []placement.Moving {
	d.mu.Lock()
	out := make([]placement.Moving, 0, len(d.moves))
	for r, m := range d.moves {
		if d.group(r) == nil { // what it was is deleted
			delete(d.moves, r)
			continue
		}
		out = append(out, m)
	}
	d.mu.Unlock()
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
		d.settled(p.ref)
		return
	}
	m := placement.Moving{
		Key:     p.key,
		From:    p.record.list(),
		To:      p.state.Wanted,
		Phase:   step.Phase,
		Message: step.Message,
	}
	if step.Move != nil {
		m.Since = step.Move.Since
	}
	if step.Phase == placement.Staying && placement.Same(m.From, m.To) {
		d.settled(p.ref)
		return
	}
	d.mu.Lock()
	before, was := d.moves[p.ref]
	d.moves[p.ref] = m
	d.mu.Unlock()
	if !was || before.Phase != m.Phase || before.Message != m.Message || !slices.Equal(before.From, m.From) ||
		!slices.Equal(before.To, m.To) {
		d.tellMoves(before.From, before.To, m.From, m.To)
	}
}

// settled drops the move of a group.
func (d *Delivery) settled(r ref) {
	d.mu.Lock()
	before, was := d.moves[r]
	delete(d.moves, r)
	d.mu.Unlock()
	if was {
		d.tellMoves(before.From, before.To)
	}
}

// tellMoves tells that moves from or to some targets are others.
func (d *Delivery) tellMoves(of ...[]string) {
	if d.cfg.Moved == nil {
		return
	}
	for _, t := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(of...)))) {
		d.cfg.Moved(t)
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
