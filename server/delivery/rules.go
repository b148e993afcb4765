package delivery

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// placementObject takes a write of a Placement: its rule when the spec changed, its record when the
// status did.
func (s *step) placementObject(w store.Write) {
	d := s.d
	sp := d.spaceOf(w.Key.Space)
	b := sp.placements[w.Key.Name]
	meta := fields.Map(w.Object, "metadata")
	if w.Object == nil || (b != nil && b.uid != str(meta, "uid")) {
		delete(sp.placements, w.Key.Name)
		s.rulesChanged(sp)
		b = nil
	}
	if w.Object == nil {
		d.tidySpace(sp)
	}
	var o v1alpha1.Placement
	if w.Object == nil || !d.decode(w, &o) {
		return
	}
	if b == nil {
		b = &rulebook{name: w.Key.Name, uid: str(meta, "uid"), generation: -1}
		b.group = group{kind: ofPlacement, space: sp, book: b}
		sp.placements[b.name] = b
	}
	b.epoch, b.revision, b.status = d.epoch, w.Revision, fields.Map(w.Object, "status")
	b.group.move = readMove(o.Status.Move)
	record := d.sets.of(o.Status.Decision)
	recorded := b.group.record != record
	b.group.record = record
	if b.generation != o.Generation || b.rule == nil {
		b.generation = o.Generation
		rule, err := placement.Compile(b.name, str(meta, "creationTimestamp"), o.Spec)
		if b.problem = ""; err != nil {
			b.problem = err.Error()
		} else {
			b.rule = rule
			b.setPolicy(o.Spec.Sync)
		}
		s.rulesChanged(sp)
		s.retryHolds(func(h *hold) bool { return h.key.to == b.group.ref() })
	} else if recorded {
		b.group.members(func(m *object) bool { s.moved(m); return true })
	}
	if !s.bulk {
		d.enqueue(&b.group)
	}
}

// rulesChanged finds out again who decides about the objects of a space.
func (s *step) rulesChanged(sp *space) {
	sp.sortRules()
	if s.bulk {
		return
	}
	sp.eachObject(s.moved)
	for _, b := range sp.placements {
		s.d.enqueue(&b.group)
	}
}

func (sp *space) sortRules() {
	sp.rules = sp.rules[:0]
	for _, b := range sp.placements {
		if b.rule != nil {
			sp.rules = append(sp.rules, b.rule)
		}
	}
	placement.Sort(sp.rules)
}

// enqueue lets the decision writer look at a group.
func (d *Delivery) enqueue(g *group) { d.groups.Add(g.ref()) }

// wake lets the decision writer look at what a write of an object may have changed.
func (d *Delivery) wake(o *object, labelled bool) {
	switch {
	case o.kind.order == store.ClassNamespace:
		d.enqueue(&o.ns.space.namespaces[o.name].group)
	case o.source == nil:
	case o.source.kind == ofObject, o.source.record == nil, o.source.moving, o.source.move != nil:
		d.enqueue(o.source)
	case o.source.kind == ofPlacement && labelled:
		d.enqueue(o.source)
	}
	if h := d.holds[o]; h != nil {
		d.groups.Add(ref{kind: ofHold, key: o.key()})
	}
	d.wakeNaming(o)
}

func (d *Delivery) wakeUnlessBulk(s *step) {
	if !s.bulk {
		d.wakeAll()
	}
}

func (d *Delivery) wakeAll() {
	for _, sp := range d.spaces {
		d.wakeSpace(sp)
	}
}

// wakeSpace lets the decision writer look at every group of a space.
func (d *Delivery) wakeSpace(sp *space) {
	for _, n := range sp.namespaces {
		if n.self != nil {
			d.enqueue(&n.group)
		}
	}
	for _, b := range sp.placements {
		d.enqueue(&b.group)
	}
	sp.eachObject(func(o *object) {
		if o.source != nil && o.source.kind == ofObject {
			d.enqueue(o.source)
		}
	})
}
