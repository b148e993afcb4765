package delivery

import (
	"iter"
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// fenced is what objects need before they may leave a target that is away.
type fenced struct {
	once bool          // something of it must not run twice
	stop time.Duration // how long it takes to stop that
	// beyond is what of it no agent can stop: what runs for it is not known here. Empty for nothing.
	beyond string
}

// fencedOf tells what objects need, of which all or those that say so must not run twice. The lock must
// be held.
func fencedOf(objects iter.Seq[*catalog.Object], all bool) (f fenced) {
	for o := range objects {
		if !all && !o.RunsOnce() {
			continue
		}
		f.once = true
		if o.Work != nil {
			f.stop = max(f.stop, o.Work.StopTime)
		}
		if f.beyond == "" && o.RunsUnseen() {
			f.beyond = o.Kind.Resource + "/" + o.Name
		}
	}
	return f
}

// absent decides about one target that a group leaves. A target that is gone for good was said to be
// so by whoever deleted it. The lock must be held.
func (d *Delivery) absent(name string, f fenced) placement.Absence {
	t := d.catalog.Targets[name]
	if t == nil || d.cfg.Leases == nil {
		return placement.Absence{Certain: true}
	}
	l := d.cfg.Leases.Lease(name, f.stop)
	l.Beyond = f.beyond
	return placement.Absent(t.Target, l, time.Now())
}

// unfenced are the targets of a group that are away and that it must not leave by itself. The lock
// must be held.
func (d *Delivery) unfenced(g *catalog.Group, current []string) (out map[string]string) {
	var away []string
	for _, name := range current {
		if t := d.catalog.Targets[name]; t != nil && !t.Connected && !t.OutOfService() {
			away = append(away, name)
		}
	}
	if len(away) == 0 {
		return nil
	}
	f := fencedOf(func(yield func(*catalog.Object) bool) { g.Members(yield) }, g.BreaksFirst())
	never := g.Failover() == v1alpha1.FailoverNever
	for _, name := range away {
		message := ""
		if a := d.absent(name, f); f.once && !a.Certain && a.Until.IsZero() {
			message = a.Message
		}
		if never && !d.catalog.Targets[name].Drained() {
			message = "stays on " + name + ", which is away: spec.failover.mode of its Placement is Never"
		}
		if message != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = message
		}
	}
	return out
}

// fence notes what of a record must not run twice. The lock must be held.
func (d *Delivery) fence(l *look, g *catalog.Group, members []*catalog.Object) {
	l.fenced = fencedOf(slices.Values(members), l.facts.BreakFirst)
	l.facts.Once = l.fenced.once
	if g != nil {
		l.failover = g.Failover()
	}
}

// fenceOf is what counts instead of the word of a target that is away and has something of a record
// which must not run twice. The lock must be held.
func (d *Delivery) fenceOf(l *look, t *catalog.Target) binding.Fence {
	if !l.fenced.once || t.Connected || t.Emptied ||
		!slices.ContainsFunc(l.record.Places, func(p binding.Place) bool { return p.Target == t.ID }) {
		return binding.Speaks
	}
	if l.absent == nil {
		l.absent = map[binding.TargetID]placement.Absence{}
	}
	a := d.absent(t.Name, l.fenced)
	if l.absent[t.ID] = a; a.Certain {
		return binding.RunsNot
	}
	return binding.MayRun
}

// awaits is when the last of the leases ends that the next state of a record waits for, and what people
// are told of it. It is zero where it waits for none.
func (l *look) awaits(next binding.Record) (until time.Time, message string) {
	for _, p := range next.Places {
		if a := l.absent[p.Target]; p.Off && !a.Certain && a.Until.After(until) {
			until, message = a.Until, a.Message
		}
	}
	return until, message
}

// awayLeft are the targets that a record has left and that are away: the move is still about them.
func (l *look) awayLeft() (out []string) {
	for _, p := range l.record.Places {
		if _, away := l.absent[p.Target]; p.Off && away {
			out = append(out, l.names[p.Target])
		}
	}
	return out
}

// speaksNot reports whether what a target that is away has not said does not matter, because it is known
// when nothing of it runs there any more.
func (l *look) speaksNot(t binding.TargetID) bool {
	a, away := l.absent[t]
	return away && (a.Certain || !a.Until.IsZero())
}

// leavesVolumes reports whether the volumes of a record do not keep it on a target: its Placement says
// that it is to fail over, and the target is away.
func (l *look) leavesVolumes(t binding.TargetID) bool {
	_, away := l.absent[t]
	return l.promoted && l.record.Places[0].Target == t ||
		away && l.failover == v1alpha1.FailoverAfterLease && l.facts.Wish == binding.Somewhere
}

// fencePause is the least time until a lease is looked at again.
const fencePause = 100 * time.Millisecond

// wakeFence looks at a record again when the lease that it waits for ends.
func (d *Delivery) wakeFence(r catalog.Ref, l *look, next binding.Record) {
	if at, _ := l.awaits(next); !at.IsZero() {
		d.catalog.Groups.AddAfter(r, max(time.Until(at)+time.Millisecond, fencePause))
	}
}
