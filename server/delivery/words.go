package delivery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// names are the targets of a look, in the order of their numbers.
func (p *plan) names(ids []binding.TargetID) []string { return p.look.namesOf(ids) }

func (l *look) namesOf(ids []binding.TargetID) (out []string) {
	for _, id := range ids {
		out = append(out, l.names[id])
	}
	return out
}

// step says for people what the next state of a unit's record means.
func (p *plan) step(d *Delivery, next binding.Record) placement.Step {
	was, f := p.look.record, &p.look.facts
	here, before := p.names(next.Here()), p.names(was.Here())
	step := placement.Step{Decision: here, Since: since(next)}
	say := func(phase placement.Phase, text string, args ...any) placement.Step {
		step.Phase, step.Message = phase, fmt.Sprintf(text, args...)
		return step
	}
	if f.Suspended {
		return say(placement.Suspended, "spec.suspend holds the decision as it is")
	}
	if p.turned != "" && slices.Equal(here, before) {
		return say(placement.WaitsForTurn, "%s", p.turned)
	}
	if phase, message := p.stranded(next); message != "" {
		return say(phase, "%s", message)
	}
	if p.unseen != "" {
		return say(placement.Waiting, "%s", p.unseen)
	}
	if text := p.look.copyWords(next); text != "" {
		return say(placement.CopyingVolumes, "%s", text)
	}
	if len(next.GaveUp) > 0 && !p.instead {
		return say(placement.GivenUp, "%s", p.gaveUp(d, next))
	}
	joined, left := without(here, before), without(before, here)
	if text := p.unheard(next); text != "" && slices.Equal(here, before) {
		return say(placement.Waiting, "%s", text)
	}
	switch {
	case next.Settled() && (was.Settled() || p.at.Revision == 0):
		if len(f.Wanted) == 0 && f.Wish == binding.NoOpinion {
			return say(placement.Staying, "%s", p.choice.Message)
		}
		return say(placement.Settled, "")
	case next.Settled() && slices.ContainsFunc(left, func(t string) bool { return p.cameFor(t) }):
		return say(placement.Finishing, "back on %s", placement.Join(here))
	case next.Settled() && len(left) == 0 && p.first:
		return say(placement.Finishing, "ready on %s, left %s", placement.Join(here), placement.Join(p.leftBefore(was, here)))
	case next.Settled():
		return say(placement.Finishing, "ready on %s, leaving %s", placement.Join(here), placement.Join(left))
	case len(left) > 0 && len(next.HandsOver()) > 0:
		return say(placement.Breaking, "ready on %s, left %s: what must not run twice comes last", placement.Join(here),
			placement.Join(left))
	case len(left) > 0 && p.first:
		return say(placement.Breaking, "from %s to %s, removed first", placement.Join(left),
			placement.Join(p.names(f.Wanted)))
	case len(joined) > 0 && p.first:
		return say(placement.Starting, "gone from %s, placed on %s", placement.Join(p.leftBefore(was, here)),
			placement.Join(joined))
	case len(joined) > 0:
		return say(placement.Starting, "from %s to %s%s", placement.Join(p.leaves(next)), placement.Join(joined),
			p.passedOver(next))
	}
	if phase, text := p.look.hookWords(next); text != "" {
		return say(phase, "%s", text)
	}
	return say(placement.Waiting, "%s%s", p.waits(next), p.passedOver(next))
}

// BreaksFirst reports whether a record breaks first in this step, be it for a target that is away.
func (l *look) breaksFirst(next binding.Record) bool {
	off := func(p binding.Place) bool { return p.Off }
	return l.facts.BreakFirst || len(l.record.Copying()) > 0 ||
		l.facts.Once && (slices.ContainsFunc(l.record.Places, off) || slices.ContainsFunc(next.Places, off))
}

// since is when the longest of what a record waits for began, zero when it waits for nothing.
func since(r binding.Record) (first time.Time) {
	for _, p := range r.Places {
		began := p.Since
		if p.Hooks.Began != 0 {
			began = p.Hooks.Began
		}
		if at := time.Unix(int64(began), 0).UTC(); began != 0 && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// cameFor reports whether a target was to replace another one.
func (p *plan) cameFor(target string) bool {
	return slices.ContainsFunc(p.look.record.Places, func(place binding.Place) bool {
		return place.For != 0 && p.look.names[place.Target] == target
	})
}

// leaves are the targets that end.
func (p *plan) leaves(r binding.Record) (out []string) {
	for _, place := range r.Places {
		if place.Leaving != binding.Stays {
			out = append(out, p.look.names[place.Target])
		}
	}
	return out
}

// leftBefore are the targets that a record has been taken off.
func (p *plan) leftBefore(r binding.Record, but []string) (out []string) {
	for _, place := range r.Places {
		for _, id := range []binding.TargetID{place.Target, place.For} {
			name := p.look.names[id]
			if id != 0 && !slices.Contains(but, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// unheard says that nothing is taken away before a target that has no session can learn of it.
func (p *plan) unheard(next binding.Record) string {
	for _, w := range binding.Waits(next, p.look.facts) {
		if to := p.look.names[w.Target]; w.For == binding.WaitHeard {
			return fmt.Sprintf("%s is kept until %s has a session: it is away, and nothing is taken away for a target "+
				"that cannot have it. Bring %[2]s back, or choose another target", p.look.names[w.Instead], to)
		}
	}
	return ""
}

// waits says what the first thing is that a record waits for.
func (p *plan) waits(r binding.Record) string {
	l := p.look
	for _, w := range binding.Waits(r, l.facts) {
		name, instead := l.names[w.Target], l.names[w.Instead]
		switch w.For {
		case binding.WaitReady:
			why := l.notReady[w.Target]
			if why == "" {
				continue // it is, and what is left is another matter
			}
			if r.Has(w.Instead) {
				return fmt.Sprintf("%s is kept until %s is ready: %s", placement.Join(p.leaves(r)), name, why)
			}
			return fmt.Sprintf("%s is not ready yet: %s", name, why)
		case binding.WaitAbsent:
			if until, message := l.awaits(r); !until.IsZero() {
				return message
			}
			what := l.present[w.Target]
			if what == "" {
				what = "what it had"
			}
			if instead == "" {
				instead = placement.Join(p.names(l.facts.Wanted))
			}
			return fmt.Sprintf("placed on %s once %s is gone from %s%s", instead, what, name, l.howToEnd(w.Target))
		case binding.WaitCover:
			for _, t := range l.facts.Wanted {
				if why := l.notReady[t]; why != "" {
					return fmt.Sprintf("%s is kept until %s is ready: %s", name, l.names[t], why)
				}
			}
		}
	}
	for _, t := range l.facts.Wanted {
		if why := l.notReady[t]; why != "" {
			return fmt.Sprintf("%s is kept until %s is ready: %s", placement.Join(p.leaves(r)), l.names[t], why)
		}
	}
	return ""
}

// howToEnd says of a target that is waited for and away why nothing but its return ends that, and what
// does; it is empty where something else does.
func (l *look) howToEnd(t binding.TargetID) string {
	a := l.absent[t]
	if a.Why == "" {
		return ""
	}
	return fmt.Sprintf(", which is away: it must not run twice and %s. If the site is really down: "+
		"skerry target out-of-service %s", a.Why, l.names[t])
}

// GaveUp says why targets were given up. What the holder says already is kept: after a restart nobody
// knows it any more.
func (p *plan) gaveUp(d *Delivery, next binding.Record) string {
	var to []string
	problem := ""
	for _, g := range next.GaveUp {
		name := p.look.names[g.Target]
		to = append(to, name)
		if why := p.look.notReady[g.Target]; why != "" && problem == "" {
			problem = name + " is not ready: " + why
		} else if what := p.stillOn(next); problem == "" && what != "" {
			problem = what
		}
	}
	where := "not moved to " + placement.Join(to) + ", " + p.look.keptWhere(next) + ": "
	if len(next.GaveUp) == len(p.look.record.GaveUp) {
		if said := p.said(d); strings.HasPrefix(said, where) {
			return said
		}
	}
	return where + problem + ". It is tried again when the objects, the wish or the targets change"
}

// keptWhere says where a record is that was not moved: nowhere while what it has left may still have it.
func (l *look) keptWhere(r binding.Record) string {
	if here := r.Here(); len(here) > 0 {
		return "kept on " + placement.Join(l.namesOf(here))
	}
	var left []string
	for _, place := range r.Places {
		left = append(left, l.names[place.Target])
	}
	return "on no target until nothing is left on " + placement.Join(left)
}

// StillOn names what a target still has that was left.
func (p *plan) stillOn(r binding.Record) string {
	for _, place := range p.look.record.Places {
		if what := p.look.present[place.Target]; place.Off && what != "" {
			return fmt.Sprintf("%s still has %s", p.look.names[place.Target], what)
		}
	}
	return ""
}

// said is what people have been told of a move that was given up.
func (p *plan) said(d *Delivery) string {
	d.catalog.RLock()
	m := d.catalog.Moves[p.ref]
	d.catalog.RUnlock()
	if m.Phase == placement.GivenUp {
		return m.Message
	}
	list, kind := p.conditions, v1alpha1.ConditionObjectMoving
	if p.ref.Kind == catalog.OfPlacement {
		list, kind = catalog.ReadConditions(map[string]any{"status": p.status}), v1alpha1.ConditionMoving
	}
	if c := list.Get(kind); fields.Clone(c, "reason") == "ReadyTimeout" {
		return fields.Clone(c, "message")
	}
	return ""
}

// stranded explains why a unit does not leave a target.
func (p *plan) stranded(next binding.Record) (placement.Phase, string) {
	for _, w := range append(binding.Waits(next, p.look.facts),
		binding.Wait{For: binding.WaitVolume, Target: p.look.strands}) {
		if w.For == binding.WaitVolume && next.Has(w.Target) {
			return p.look.held(w.Target)
		}
	}
	return "", ""
}

// held says what keeps a record on a target: a volume that would be left behind, what would run on, or what runs to
// its end.
func (l *look) held(t binding.TargetID) (placement.Phase, string) {
	if volumes := l.volumes[t]; len(volumes) > 0 {
		return placement.VolumeWouldStay, fmt.Sprintf("%s would be left behind on %s; %s, or, to let the rest move, pin it "+
			"and the workload that uses it with the label skerry.dev/target=%[2]s", three(volumes), l.names[t],
			l.wayOut())
	}
	if on := l.runningOn(t); len(on) > 0 {
		return placement.WouldRunOn, fmt.Sprintf("%s would run on at %s beside the one on another target: "+
			"sync.whenPlacementDeleted is Orphan; set it to Clean, or delete the workload there and here, and make it anew",
			three(on), l.names[t])
	}
	return placement.JobRunning, fmt.Sprintf("waits for the end of %s on %s, which has begun there and must run once; "+
		"to move at once, delete it", three(l.begun[t]), l.names[t])
}

// three names the first of some objects.
func three(keys []store.Key) string {
	var list []string
	for _, k := range keys[:min(3, len(keys))] {
		list = append(list, question{key: k}.text())
	}
	if more := len(keys) - 3; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// without returns the names of a that are not in b.
func without(a, b []string) (out []string) {
	for _, name := range a {
		if !slices.Contains(b, name) {
			out = append(out, name)
		}
	}
	return out
}
