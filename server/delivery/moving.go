package delivery

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// readMove takes over the record of a move.
func readMove(r *v1alpha1.MoveRecord) *placement.Move {
	if r == nil {
		return nil
	}
	m := &placement.Move{From: r.From, To: r.To, Left: r.Left, GaveUp: r.GaveUp, Absent: r.Absent, Message: r.Message}
	if r.Since != nil {
		m.Since = r.Since.Time
	}
	return m
}

// parseMove reads the annotation skerry.dev/move. One that cannot be read is none: the move goes on
// without a limit of time.
func parseMove(annotation string) *placement.Move {
	var r v1alpha1.MoveRecord
	if annotation == "" || json.Unmarshal([]byte(annotation), &r) != nil {
		return nil
	}
	return readMove(&r)
}

// moveText writes the record of a move as JSON, empty when there is none.
func moveText(m *placement.Move) string {
	if m == nil {
		return ""
	}
	r := v1alpha1.MoveRecord{
		From:    m.From,
		To:      m.To,
		Left:    m.Left,
		GaveUp:  m.GaveUp,
		Absent:  m.Absent,
		Message: m.Message,
	}
	if !m.Since.IsZero() {
		r.Since = &metav1.Time{Time: m.Since}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return "" // texts and a time always encode
	}
	return string(b)
}

// moveField is the record as a field of a status.
func moveField(m *placement.Move) any {
	var field map[string]any
	if text := moveText(m); text == "" || json.Unmarshal([]byte(text), &field) != nil {
		return nil
	}
	return field
}

// stamp starts the time of a move that is recorded for the first time. It is kept in whole seconds,
// rounded up so that nothing is given up too early.
func stamp(step *placement.Step, now time.Time) {
	m := step.Move
	if m == nil || m.GaveUp != "" || !m.Since.IsZero() || step.Phase == placement.Suspended {
		return
	}
	begun := *m
	begun.Since = now.Add(time.Second - time.Nanosecond).Truncate(time.Second).UTC()
	step.Move = &begun
}

// patience is how long a half of the group's moves may take.
func (g *group) patience() time.Duration {
	if g.kind == ofPlacement && g.book.rule != nil {
		return g.book.rule.ReadyTimeout
	}
	return placement.ReadyTimeout
}

// breaksFirst reports whether the group must not be in two places.
func (g *group) breaksFirst() bool {
	return g.kind == ofPlacement && g.book.rule != nil && g.book.rule.BreakFirst
}

// pending reports whether a move is recorded that has not been given up, or that still goes back.
func (g *group) pending(current []string) bool {
	return g.move != nil && !g.settledBack(current)
}

// settledBack reports whether a move was given up and everything is back.
func (g *group) settledBack(current []string) bool {
	return g.move != nil && g.move.GaveUp != "" && placement.Same(g.move.From, current)
}

// remember fills in what is known of the group's move. The lock must be held.
func (d *Delivery) remember(p *plan, wish placement.Wish, world placement.World) {
	g, s := p.group, &p.state
	s.Move, s.BreakFirst = g.move, g.breaksFirst()
	s.Unseen, s.Present = map[string]string{}, map[string]string{}
	if m := s.Move; m != nil && !m.Since.IsZero() {
		s.Overdue = time.Since(m.Since) >= g.patience()
	}
	if given := g.move != nil && g.move.GaveUp != ""; given {
		d.givenUp[p.ref] = struct{}{}
	} else {
		delete(d.givenUp, p.ref)
	}
	if s.Move == nil && !g.moving {
		return
	}
	s.Fingerprint = d.fingerprint(g, wish, world)
	for _, t := range placement.Union(s.Wanted, to(s.Move)) {
		if known := d.targets[t]; known == nil || !known.Connected {
			s.Absent = append(s.Absent, t)
		}
	}
}

func to(m *placement.Move) []string {
	if m == nil {
		return nil
	}
	return m.To
}

// fingerprint stands for all that a new try of a move would depend on: the objects with what they
// name, the wish, and the targets that fit it.
func (d *Delivery) fingerprint(g *group, wish placement.Wish, world placement.World) string {
	var sum uint64 // of all objects, in any order
	add := func(o *object) {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%x", o.key().Encode(), o.content)
		sum += h.Sum64()
	}
	g.members(func(o *object) bool {
		add(o)
		if o.work != nil {
			for _, dep := range o.work.names {
				if dep.present {
					add(dep)
				}
			}
		}
		return true
	})
	all := fnv.New64a()
	fmt.Fprintf(all, "%x %s %s %v", sum, wish, g.patience(), g.breaksFirst())
	for _, t := range wish.Fits(world) {
		fmt.Fprintf(all, "\x00%s %s %s %v", t.Name, d.targets[t.Name].uid, t.Labels, t.Unschedulable)
	}
	return fmt.Sprintf("%016x", all.Sum64())
}

// askMove finds, for each target of a move, what the group still has there and what it has not
// reported on.
func (d *Delivery) askMove(p *plan) {
	s := &p.state
	if !s.BreakFirst {
		return
	}
	targets := placement.Union(s.Current, to(s.Move))
	if s.Move != nil {
		targets = placement.Union(placement.Union(targets, s.Move.From), s.Move.Left)
	}
	for _, t := range targets {
		for _, q := range p.asked {
			name := q.key.Resource + "/" + q.key.Name
			pr, ok := d.cfg.Progress(t, q.key)
			if reported := ok && pr.UID == q.demand.UID; reported && s.Present[t] == "" {
				s.Present[t] = name
			} else if !reported && s.Unseen[t] == "" {
				s.Unseen[t] = name
			}
		}
	}
}

// wakeAt looks again when the time of a move is over.
func (d *Delivery) wakeAt(p *plan, m *placement.Move) {
	if m == nil || m.GaveUp != "" || m.Since.IsZero() {
		return
	}
	d.groups.AddAfter(p.ref, max(time.Until(m.Since.Add(p.patience)), time.Second))
}

// reconsider looks again at all moves that were given up: a target is there again. The lock must be
// held.
func (d *Delivery) reconsider() {
	for r := range d.givenUp {
		d.groups.Add(r)
	}
}

// wakeNaming looks again at the groups that name an object, if they wait for it. The lock must be
// held.
func (d *Delivery) wakeNaming(o *object) {
	if o.work == nil {
		return
	}
	for _, w := range o.work.namedBy {
		if w.source != nil && w.source.move != nil {
			d.enqueue(w.source)
		}
	}
}
