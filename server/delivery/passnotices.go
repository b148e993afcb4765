package delivery

import (
	"fmt"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// notice is what people are told about an object: a condition, and an Event when it has a reason.
type notice struct {
	key       store.Key
	condition placement.Condition
	event     placement.Event
}

// passingWords is what is said of objects that do not come to where they pass to, and taken back when
// they do.
func (d *Delivery) passingWords(
	seq uint64, g *catalog.Group, l *look, next binding.Cohort, to binding.Binding, members []*catalog.Object,
) []notice {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	reason, event, message := "", "", ""
	waiting := binding.Waits(next.Record, l.facts)
	if l.strands != 0 {
		waiting = append(waiting, binding.Wait{For: binding.WaitVolume, Target: l.strands})
	}
	for _, w := range waiting {
		switch w.For {
		case binding.WaitVolume:
			if phase, text := l.held(w.Target); phase != placement.VolumeWouldStay {
				if reason, message = string(phase), text; phase == placement.WouldRunOn {
					event = reason
				}
				break
			}
			reason, event = string(placement.VolumeWouldStay), string(placement.VolumeWouldStay)
			message = "its volume would be left behind on " + l.names[w.Target] + "; to keep it there for good set the " +
				"label " + v1alpha1.LabelTarget + "=" + l.names[w.Target]
		case binding.WaitChange:
			if reason == "" {
				reason, event = "ReadyTimeout", "MoveGivenUp"
				message = fmt.Sprintf("%s instead of %s: %s: %s. It is tried again when the objects, the wish or "+
					"the targets change", l.keptWhere(next.Record), l.names[w.Target], l.names[w.Target], l.notReady[w.Target])
			}
		}
	}
	was := d.catalog.Passes[seq]
	if was.Reason == reason && reason != "" {
		message = was.Why
	}
	if next.Ended || len(next.Places) == 0 || next.At(to) {
		delete(d.catalog.Passes, seq)
	} else {
		d.catalog.Passes[seq] = catalog.PassWords{Reason: reason, Why: message,
			Move: d.passMove(g, l, next, members, reason, message)}
	}
	catalog.Restop(d.catalog, members...)
	if was.Reason == reason {
		return nil
	}
	var out []notice
	for _, o := range members {
		n := notice{key: o.Key(), condition: placement.Condition{
			Type: v1alpha1.ConditionObjectMoving, Reason: string(placement.Settled)}}
		if reason != "" {
			n.condition.Reason, n.condition.Message = reason, message
			n.event = placement.Event{Key: o.Key(), APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name, UID: o.UID,
				Warning: true, Reason: event, Message: message}
		}
		out = append(out, n)
	}
	return out
}

// passMove is a cohort as a move. The lock must be held.
func (d *Delivery) passMove(
	g *catalog.Group,
	l *look,
	next binding.Cohort,
	members []*catalog.Object,
	reason, why string,
) placement.Moving {
	m := placement.Moving{Key: members[0].Key(), From: placement.Union(d.catalog.Names(next.Here()), l.awayLeft()),
		To: d.catalog.Names(l.facts.Wanted), Since: since(next.Record), Phase: placement.Waiting, Message: why}
	switch {
	case len(next.GaveUp) > 0:
		m.Phase = placement.GivenUp
	case why != "":
		m.Phase = placement.Phase(reason)
	}
	to := "what decides about it now"
	if g != nil {
		to = g.Ref().Key.Resource + "/" + g.Ref().Key.Name
	}
	if until, message := l.awaits(next.Record); !until.IsZero() {
		m.Message = message
	}
	if phase, text := l.hookWords(next.Record); text != "" && m.Message == "" {
		m.Phase, m.Message = phase, text
	}
	if m.Message == "" {
		m.Message = fmt.Sprintf("it passes to %s", to)
		for _, t := range l.facts.Wanted {
			if why := l.notReady[t]; why != "" {
				m.Message += fmt.Sprintf(", and %s is not ready: %s", l.names[t], why)
				break
			}
		}
	}
	if more := len(members) - 1; more > 0 {
		m.Message += fmt.Sprintf("; so do %d more objects", more)
	}
	return m
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
