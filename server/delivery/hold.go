package delivery

import (
	"context"
	"slices"
	"time"

	"skerry.dev/skerry/server/placement"
)

// hold keeps an object where it was when another group decides about it than before (a label was
// removed, a Placement came or went), until it has arrived where the new one wants it. It ends with
// a write of the object's annotation, so that the feeds change with a revision of their own. After
// a restart it is made again from that annotation.
type hold struct {
	on *set
	// key names what changes together: all objects that go from one group to another.
	key holdKey
	// pinned: it has a volume where it is, and does not go anywhere else.
	pinned bool
	// releasing: everything has arrived, the annotation is being written.
	releasing bool
	// broken: where the new group breaks first, it has been taken off what it leaves.
	broken bool
	// since is when the present half of the change began; failed says why it was given up: then it
	// stays where it was. absent tells that a new target had no session then.
	since  time.Time
	failed string
	absent bool
	said   bool // the condition says that it failed
	// keeps: whoever decided before leaves the object on the targets that it is taken off.
	keeps bool
}

type holdKey struct{ from, to ref }

// attribute finds out who decides about an object. The lock must be held. In the first snapshot the
// annotation tells where the object was before.
func (d *Delivery) attribute(o *object, first bool) {
	if !o.present {
		return
	}
	old, next := o.source, d.sourceOf(o)
	if next == old {
		return
	}
	before := d.where(o)
	if old == nil && first && next != nil {
		before = d.before(o, next)
	}
	keeps := o.keepsPlace()
	if h := d.holds[o]; h != nil {
		keeps = h.keeps
	}
	o.source = next
	delete(d.holds, o)
	if next != nil && next.kind == ofObject && before.len() > 0 && !o.finished {
		next.inherit(before)
		d.enqueue(next)
		return
	}
	if next == nil || before.len() == 0 || d.sets.minus(before, next.record) == nil {
		return
	}
	if o.finished {
		return
	}
	h := &hold{on: before, since: time.Now(), keeps: keeps}
	if old != nil {
		h.key.from = old.ref()
	}
	if next.kind == ofNamespace {
		next.regain(before)
	}
	h.key.to, h.pinned = next.ref(), d.stranded(o, before, next.record)
	d.holds[o] = h
	d.groups.Add(ref{kind: ofHold, key: o.key()})
	d.enqueue(next)
}

// before tells, after a restart, where an object was before the group decided about it that does
// now, as far as that is not where its record says.
func (d *Delivery) before(o *object, g *group) *set {
	switch {
	case g.kind != ofObject && g.breaksFirst():
		return d.unbroken(o, g)
	case g.kind != ofObject:
		return d.shownOn(o, g)
	case g.stale, o.note.len() == 0:
		return d.followedTo(o)
	}
	return nil
}

// followedTo tells, after a restart, where an object is that has got a wish of its own and no
// decision: of the targets of its annotation, of its Namespace and of the Placement that it may
// have followed those that report it, and that it has not left with its Namespace.
func (d *Delivery) followedTo(o *object) *set {
	if o.ns.name == "" {
		return nil
	}
	var on []string
	g := followed(o)
	for _, name := range placement.Union(placement.Union(g.record.list(), o.ns.group.record.list()), o.note.list()) {
		if (g.record.has(name) || !slices.Contains(g.left, name)) && d.shows(name, o) {
			on = append(on, name)
		}
	}
	return d.sets.of(on)
}

// shownOn tells, after a restart, where an object was before its present group decided about it: of
// the targets of its annotation those that report it, and that it has not left with the group. The
// annotation alone is no witness: one that follows a record is written when there is time, and
// names targets that the object has left.
func (d *Delivery) shownOn(o *object, g *group) *set {
	var on []string
	for _, name := range o.note.list() {
		if g.record.has(name) || (o.undecided || !slices.Contains(g.left, name)) && d.shows(name, o) {
			on = append(on, name)
		}
	}
	return d.sets.of(on)
}

// stranded reports whether the object has a volume on a target that it would leave.
func (d *Delivery) stranded(o *object, before, after *set) bool {
	if o.kind.resource != "persistentvolumeclaims" && (o.work == nil || !o.work.templates) {
		return false
	}
	for _, t := range d.sets.minus(before, after).list() {
		if p, ok := d.cfg.Progress(t, o.key()); ok && p.HasVolume && p.UID == o.uid {
			return true
		}
	}
	return false
}

// release ends a hold that has nothing to hold any more. The lock must be held and settles the
// object afterwards.
func (d *Delivery) release(o *object) {
	h := d.holds[o]
	if h == nil {
		return
	}
	covered := o.source != nil && d.sets.minus(h.on, o.source.record) == nil
	if covered || (h.releasing && o.note.record() == d.released(o).derived()) {
		o.keeps = h.keeps && !covered
		delete(d.holds, o)
	}
}

// released is where an object is once its hold has ended.
func (d *Delivery) released(o *object) *set {
	on := o.source.record
	if o.work != nil {
		for _, w := range o.work.namedBy {
			on = d.sets.union(on, d.where(w))
		}
	}
	return on
}

// letGo ends the holds of all objects that make the same change as this one, when all of them have
// arrived; or, where the new group breaks first, when they are gone from where they were. What
// takes too long stays where it was.
func (d *Delivery) letGo(_ context.Context, r ref) error {
	d.mu.Lock()
	o := d.find(r.key)
	h := d.holds[o]
	if o == nil || h == nil || h.releasing || h.failed != "" {
		d.mu.Unlock()
		return nil
	}
	if h.pinned {
		n := pinned(o, h)
		d.mu.Unlock()
		d.say(n)
		return nil
	}
	var together []*object
	var asked []question
	breaks, broken, due := o.source.breaksFirst(), h.broken, h.since.Add(o.source.patience())
	for m, mh := range d.holds {
		if mh.key != h.key || mh.pinned || mh.failed != "" {
			continue
		}
		together = append(together, m)
		to := m.source.record
		if to == nil && !m.source.wish().Nowhere() {
			d.mu.Unlock() // not decided yet: the record will wake it
			return nil
		}
		targets := to
		if breaks {
			targets = d.sets.minus(mh.on, to)
		}
		asked = append(asked, question{key: m.key(), demand: m.demand(), targets: targets.list(), unsent: d.unsent(m)})
	}
	d.mu.Unlock()
	var why string
	switch {
	case !breaks:
		why = d.missing(asked)
	case broken:
		why = d.remaining(asked)
	default:
		why = d.unseen(asked)
	}
	d.mu.Lock()
	notices := d.takeBack(together)
	switch late := time.Until(due); {
	case why == "" && breaks && !broken:
		d.breakOff(together, h.key)
	case why == "":
		d.releaseHolds(together, h.key)
	case late > 0:
		d.groups.AddAfter(r, late)
	default:
		back, rest := d.withdrawn(together, h.key)
		d.releaseHolds(back, h.key)
		notices = append(notices, d.giveUp(rest, h.key, why)...)
	}
	d.mu.Unlock()
	d.say(notices...)
	return nil
}
