package delivery

import (
	"fmt"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// breakOff takes held objects off what they leave, all in one step. The lock must be held.
func (d *Delivery) breakOff(together []*object, key holdKey) {
	d.changeHolds(together, key, func(h *hold) { h.broken, h.since = true, time.Now() })
	for _, m := range together {
		d.groups.Add(ref{kind: ofHold, key: m.key()}) // nothing may have to be waited for
	}
}

// releaseHolds ends holds: the objects are let go of where nothing wants them any more. d.mu must
// be held.
func (d *Delivery) releaseHolds(together []*object, key holdKey) {
	for _, m := range together {
		if h := d.holds[m]; h != nil && h.key == key {
			h.releasing = true
			d.notes.Add(m.key())
		}
	}
}

// withdrawn splits held objects: back are those whose move was taken back. They joined a target,
// and who decides now wants them only where they were before. They need not stay in both places
// when their time is over: the target that they have been on longest has not got worse by the move.
// d.mu must be held.
func (d *Delivery) withdrawn(together []*object, key holdKey) (back, rest []*object) {
	for _, m := range together {
		h := d.holds[m]
		if h == nil || h.key != key {
			continue
		}
		to := m.source.record
		if h.on.len() > 0 && to.has(h.on.names[0]) && d.sets.minus(to, h.on) == nil {
			back = append(back, m)
		} else {
			rest = append(rest, m)
		}
	}
	return back, rest
}

// giveUp leaves held objects where they were, and returns what is to be said of that. The lock must
// be held.
func (d *Delivery) giveUp(together []*object, key holdKey, why string) (notices []notice) {
	d.changeHolds(together, key, func(h *hold) { h.failed, h.broken = why, false })
	for _, m := range together {
		h := d.holds[m]
		if h == nil || h.key != key {
			continue
		}
		for _, t := range m.source.record.list() {
			if known := d.targets[t]; known == nil || !known.Connected {
				h.absent = true
			}
		}
		h.said = true
		notices = append(
			notices,
			held(
				m,
				"ReadyTimeout",
				"MoveGivenUp",
				fmt.Sprintf("kept on %s instead of %s: %s. It is tried again when the "+
					"objects, the wish or the targets change", h.on.record(), m.source.record.record(), why),
			),
		)
	}
	return notices
}

// takeBack returns what is to be said when a change that was given up is tried again. The lock must
// be held.
func (d *Delivery) takeBack(together []*object) (notices []notice) {
	for _, m := range together {
		if h := d.holds[m]; h != nil && h.said {
			h.said = false
			notices = append(
				notices,
				notice{key: m.key(), condition: placement.Condition{Type: v1alpha1.ConditionObjectMoving,
					Reason: string(placement.Settled)}},
			)
		}
	}
	return notices
}

// changeHolds changes what is known of some holds and lets the feeds follow, in one step.
func (d *Delivery) changeHolds(together []*object, key holdKey, change func(*hold)) {
	s := d.begin(0)
	for _, m := range together {
		if h := d.holds[m]; h != nil && h.key == key {
			change(h)
			s.settle(m, false)
			d.note(m)
		}
	}
	s.finish()
}

// retryHolds tries the changes again that were given up and that a condition selects.
func (s *step) retryHolds(selected func(*hold) bool) {
	d := s.d
	for m, h := range d.holds {
		if h.failed == "" || !selected(h) {
			continue
		}
		h.failed, h.absent, h.since = "", false, time.Now()
		s.settle(m, false)
		d.note(m)
		d.groups.Add(ref{kind: ofHold, key: m.key()})
	}
}

// notice is what people are told about an object: a condition, and an Event when it has a reason.
type notice struct {
	key       store.Key
	condition placement.Condition
	event     placement.Event
}

func pinned(o *object, h *hold) notice {
	reason := string(placement.VolumeWouldStay)
	return held(
		o,
		reason,
		reason,
		"its volume would be left behind on "+h.on.record()+"; to keep it there for good set the label "+
			v1alpha1.LabelTarget+"="+h.on.names[0],
	)
}

// held says why an object does not follow the group that decides about it.
func held(o *object, reason, event, message string) notice {
	return notice{
		key:       o.key(),
		condition: placement.Condition{Type: v1alpha1.ConditionObjectMoving, Reason: reason, Message: message},
		event: placement.Event{
			Key:        o.key(),
			APIVersion: o.kind.apiVersion,
			Kind:       o.kind.name,
			UID:        o.uid,
			Warning:    true,
			Reason:     event,
			Message:    message,
		},
	}
}

// say tells people. The caller does not hold the lock.
func (d *Delivery) say(notices ...notice) {
	for _, n := range notices {
		d.cfg.Condition(n.key, n.condition)
		if n.event.Reason != "" {
			d.cfg.Event(n.event)
		}
	}
}

// unbroken tells, after a restart, where an object was that a group has which must not be in two
// places: on the targets that report it though the record does not have them, else where its
// annotation says, unless it is where the record says already. A move of the group itself goes on
// by its own record.
func (d *Delivery) unbroken(o *object, g *group) *set {
	if g.move != nil {
		return nil
	}
	var still []string
	for name := range d.targets {
		if !g.record.has(name) && d.shows(name, o) {
			still = append(still, name)
		}
	}
	if len(still) > 0 {
		return d.sets.of(placement.Union(nil, still))
	}
	for _, name := range g.record.list() {
		if d.shows(name, o) {
			return nil
		}
	}
	return o.note
}
