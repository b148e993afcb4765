package delivery

import (
	"context"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// hold keeps an object where it was when another group decides about it than before (a label was removed, a Placement came or
// went), until it has arrived where the new one wants it. It ends with a write of the object's annotation, so that the feeds
// change with a revision of their own. After a restart it is made again from that annotation.
type hold struct {
	on *set
	// key names what changes together: all objects that go from one group to another.
	key holdKey
	// pinned: it has a volume where it is, and does not go anywhere else.
	pinned bool
	// releasing: everything has arrived, the annotation is being written.
	releasing bool
}

type holdKey struct{ from, to ref }

// attribute finds out who decides about an object. The caller holds the lock. In the first snapshot the annotation tells
// where the object was before.
func (d *Delivery) attribute(o *object, first bool) {
	if !o.present {
		return
	}
	old, next := o.source, d.sourceOf(o)
	if next == old {
		return
	}
	before := d.where(o)
	if old == nil && first && next != nil && next.kind != ofObject {
		before = o.note
	}
	o.source = next
	delete(d.holds, o)
	if next == nil || before.len() == 0 || d.sets.minus(before, next.record) == nil {
		return
	}
	h := &hold{on: before}
	if old != nil {
		h.key.from = old.ref()
	}
	h.key.to = next.ref()
	if next.kind != ofObject {
		h.pinned = d.stranded(o, before, next.record)
	}
	d.holds[o] = h
	d.groups.Add(ref{kind: ofHold, key: o.key()})
	d.enqueue(next)
}

// stranded tells whether the object has a volume on a target that it would leave.
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

// release ends a hold that has nothing to hold any more. The caller holds the lock and settles the object afterwards.
func (d *Delivery) release(o *object) {
	h := d.holds[o]
	if h == nil {
		return
	}
	covered := o.source != nil && d.sets.minus(h.on, o.source.record) == nil
	if covered || (h.releasing && o.note.record() == d.released(o).derived()) {
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

// letGo ends the holds of all objects that make the same change as this one, when all of them have arrived.
func (d *Delivery) letGo(_ context.Context, r ref) error {
	d.mu.Lock()
	o := d.find(r.key)
	h := d.holds[o]
	if o == nil || h == nil || h.releasing {
		d.mu.Unlock()
		return nil
	}
	if h.pinned {
		d.mu.Unlock()
		d.sayPinned(o, h)
		return nil
	}
	var together []*object
	var asked []question
	for m, mh := range d.holds {
		if mh.key != h.key || mh.pinned {
			continue
		}
		together = append(together, m)
		to := m.source.record
		if to == nil && !m.source.wish().Nowhere() {
			d.mu.Unlock() // not decided yet: the record will wake it
			return nil
		}
		asked = append(asked, question{key: m.key(), demand: m.demand(), targets: to.list()})
	}
	d.mu.Unlock()
	if why := d.missing(asked); why != "" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range together {
		if mh := d.holds[m]; mh != nil && mh.key == h.key {
			mh.releasing = true
			d.notes.Add(m.key())
		}
	}
	return nil
}

func (d *Delivery) sayPinned(o *object, h *hold) {
	c := placement.Condition{Type: v1alpha1.ConditionObjectMoving, Reason: string(placement.VolumeWouldStay),
		Message: "its volume would be left behind on " + h.on.record() + "; to keep it there for good set the label " +
			v1alpha1.LabelTarget + "=" + h.on.names[0]}
	d.cfg.Condition(o.key(), c)
	d.cfg.Event(placement.Event{Key: o.key(), APIVersion: o.kind.apiVersion, Kind: o.kind.name, UID: o.uid, Warning: true,
		Reason: c.Reason, Message: c.Message})
}

// question asks whether an object has arrived on some targets.
type question struct {
	key     store.Key
	demand  placement.Demand
	targets []string
}

// missing returns an empty text when everything has arrived, else the first that has not, and why.
func (d *Delivery) missing(asked []question) string {
	for _, q := range asked {
		for _, t := range q.targets {
			if why := d.arrived(t, q); why != "" {
				return q.key.Resource + "/" + q.key.Name + " on " + t + ": " + why
			}
		}
	}
	return ""
}

func (d *Delivery) arrived(target string, q question) string {
	p, ok := d.cfg.Progress(target, q.key)
	if !ok {
		return "not reported yet"
	}
	return p.Arrived(q.demand)
}
