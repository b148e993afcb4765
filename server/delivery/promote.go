package delivery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
)

// A unit that is lost with its target begins on its standby where somebody says so (v1alpha1.AnnotationPromote), or
// where its Placement says that it is to fail over. Either way it is certain before that nothing of it runs on the
// target that is away, and that the standby holds one whole round.

// steerAgain is after how long a unit is looked at again that waits to begin on its standby.
const steerAgain = 10 * time.Second

// replicating notes what is wished of the standby of a group. The lock must be held.
func (l *look) replicating(g *catalog.Group) { l.replication, l.replicates = g.Replicates() }

// steer has a unit whose target is away go to its standby, and nowhere else. The lock must be held.
func steer(d *Delivery, p *plan, members []*catalog.Object) {
	l := p.look
	if len(l.record.Places) != 1 || l.record.Places[0].Copying || l.facts.Suspended {
		return
	}
	from := d.catalog.Records.Targets.Of(l.record.Places[0].Target)
	t := d.catalog.Targets[from.Name]
	if t == nil || t.UID != from.UID || t.Connected {
		return
	}
	has, asked := standbysOf(d, p, from.UID)
	goes := len(p.choice.Targets) > 0 && !slices.Contains(p.choice.Targets, from.Name) ||
		slices.Contains(p.gone, from.Name)
	auto := goes && l.failover == v1alpha1.FailoverAfterLease && (len(has) > 0 || l.replicates && len(l.moves.claims) > 0)
	if !asked && !auto {
		return
	}
	to, why := "", tooOld(l.replication, has, t)
	if why == "" || asked {
		to, why = promotes(d, p, has, t, fencedOf(slices.Values(members), true))
	}
	p.stays = nil
	if why != "" {
		stays := "stays on " + from.Name + ", which is away"
		why = stays + ": " + strings.TrimPrefix(why, stays+", ")
		p.choice = placement.Choice{Targets: []string{from.Name}, Message: why}
		p.stays, p.gone = []placement.Stay{{Target: from.Name, Reason: placement.StayStandby, Message: why}}, nil
		d.catalog.Groups.AddAfter(p.ref, steerAgain)
		return
	}
	p.choice, l.promoted = placement.Choice{Targets: []string{to}}, true
}

// standbysOf are the movers that keep the best standby of a unit, all at one target, and whether somebody has said
// that it may begin there: one that is asked for, else a whole one, else any. The lock must be held.
func standbysOf(d *Delivery, p *plan, from string) (best []*catalog.Mover, asked bool) {
	at := map[string][]*catalog.Mover{}
	d.catalog.Movers.Of(p.unit, func(o *catalog.Object) {
		if m := o.Mover(); m.Side == volumes.SideStandby && m.From == from && m.Until.IsZero() && !o.Leaving {
			at[m.To] = append(at[m.To], m)
		}
	})
	rank := 0
	for _, to := range slices.Sorted(maps.Keys(at)) {
		has := at[to]
		of := 1
		if lacksStandby(p.look.moves.claims, has) == "" {
			of = 2
		}
		if slices.ContainsFunc(has, func(m *catalog.Mover) bool { return m.Promote }) {
			of += 2
			asked = true
		}
		if of > rank {
			best, rank = has, of
		}
	}
	return best, asked
}

// promotes is the target of the standby that a unit may begin on now, or what is waited for. The lock must be held.
func promotes(d *Delivery, p *plan, has []*catalog.Mover, from *catalog.Target, f fenced) (to, why string) {
	l := p.look
	if why := lacksStandby(l.moves.claims, has); why != "" {
		return "", why
	}
	var target *catalog.Target
	for _, t := range d.catalog.Targets {
		if t.UID == has[0].To {
			target = t
		}
	}
	switch {
	case target == nil:
		return "", "the target that had its standby is gone"
	case !target.Connected:
		return "", target.Name + ", which has its standby, is away, too"
	}
	choice := placement.Choose(placement.Wish{Names: []string{target.Name}}, d.catalog.WorldOf(p.group), nil)
	if len(choice.Targets) == 0 {
		return "", choice.Message
	}
	if a := d.absent(from.Name, f); !a.Certain {
		if !a.Until.IsZero() {
			d.catalog.Groups.AddAfter(p.ref, max(time.Until(a.Until)+time.Millisecond, fencePause))
		}
		return "", a.Message
	}
	if !slices.ContainsFunc(has, func(m *catalog.Mover) bool { return !m.Standby.Released }) {
		return target.Name, ""
	}
	l.settles = &volumes.Replica{Settles: true, Move: volumes.Move{Space: l.space, Unit: p.unit, From: from.Name,
		FromUID: from.UID, To: target.Name, ToUID: target.UID, Standby: true}}
	for _, c := range l.moves.claims {
		l.settles.Claims = append(l.settles.Claims, c.Claim)
	}
	sortClaims(l.settles.Claims)
	return "", "it is made sure which round the standby on " + target.Name + " holds"
}

// tooOld says which standby of a unit is too old to begin on it unasked, empty where none is.
func tooOld(how *v1alpha1.VolumeReplication, has []*catalog.Mover, from *catalog.Target) string {
	for _, m := range has {
		if m.Standby == nil {
			continue
		}
		is := *m.Standby
		if how != nil { // as it is wished now
			is.MaxAge = volumes.MaxAge(how).String()
		}
		if age, old := is.TooOld(from.AwaySince); old {
			return fmt.Sprintf("its standby holds what %s was at %s, %s before %s went silent, which is older than maxAge of "+
				"volumeReplication allows, so somebody has to say that it begins there: skerry volume promote",
				m.Claim, is.Last.At.UTC().Format(time.RFC3339), age, from.Name)
		}
	}
	return ""
}

// lacksStandby says which claim of a unit has no whole round, empty where all have one.
func lacksStandby(claims []claimAt, has []*catalog.Mover) string {
	for _, m := range has {
		if m.Standby == nil || m.Standby.Last == nil {
			return "its standby holds no whole round of " + m.Claim + " yet"
		}
	}
	for _, c := range claims {
		n, of := 0, 1
		for _, m := range has {
			if m.Claim == c.Name && !c.Templates {
				n++
			} else if c.Templates && m.Set == c.Name {
				n, of = n+1, max(of, m.Of)
			}
		}
		if n < of {
			return fmt.Sprintf("%d of %d standbys of %s hold a whole round", n, of, c.text())
		}
	}
	if len(has) == 0 {
		return "it has no standby"
	}
	return ""
}

// tidyStandby ends a mover of a standby that nothing needs any more. The lock is held, and released.
//
// A standby that is not replicated any more, and what is kept of a unit at a target that it was lost with, stay until
// somebody has them forgotten: the mover is given a time until which it keeps the volume. An order that does not count
// now is taken back, since it would be obeyed some day when nobody expects it: to forget what is replicated, and to
// begin on a standby whose source is there.
func (m *volumeMoves) tidyStandby(ctx context.Context, d *Delivery, o *catalog.Object) error {
	mover, k, uid, apiVersion := o.Mover(), o.Key(), o.UID, o.Kind.ApiVersion
	b, _ := m.catalog.Records.Index.Binding(mover.Unit)
	at := mover.To
	if mover.Side.Reads() {
		at = mover.From
	}
	holds, here := false, false
	for _, p := range b.Places {
		is := m.catalog.Records.Targets.Of(p.Target).UID
		holds = holds || is == at
		here = here || is == at && !p.Off
	}
	emptied, connected := false, false // connected is the source
	for _, t := range m.catalog.Targets {
		connected = connected || t.UID == mover.From && t.Connected
		emptied = emptied || t.UID == at && (t.Removing || t.Emptied || t.Drained() && !t.OutOfService())
	}
	moved, other := false, false // a move keeps the volume; there is a standby of this
	m.catalog.Movers.Of(mover.Unit, func(o *catalog.Object) {
		is := o.Mover()
		moved = moved || is.Side == volumes.SideFrom && is.From == mover.From
		other = other || is.Side == volumes.SideStandby && is.From == mover.From && is.To == mover.To
	})
	_, unseen := m.keeping(o, at)
	settled := b.Settled()
	m.catalog.Unlock()
	now := time.Now()
	again := func(after time.Duration) error {
		m.catalog.HookJobs.AddAfter(k, after)
		return nil
	}
	patch := func(with []byte) error {
		if _, err := m.api.Patch(ctx, k, apiVersion, "", with); err != nil {
			return unlessGone(fmt.Errorf("end the mover of a standby: %w", err))
		}
		return again(seenLook)
	}
	end := func() error {
		if err := m.api.Delete(ctx, k, apiVersion, uid); err != nil {
			return unlessGone(fmt.Errorf("delete the mover of a standby: %w", err))
		}
		return nil
	}
	kept, wanted := !mover.Until.IsZero(), d.standbys.wants(mover.Mark)
	back := mover.Promote && connected && !here // the source is, before the unit has begun
	switch {
	case wanted && kept, back:
		return patch(volumes.TakesBack(wanted && kept, back))
	case wanted:
		return again(moverLook)
	case !settled, mover.Side.Reads() && !here && holds:
		return again(moverLook)
	case here && kept: // the unit has the volume itself
		return patch(volumes.KeepsNot())
	case here && (mover.Side == volumes.SideStandby || !other):
		return end()
	case here:
		return again(moverLook)
	case !emptied && mover.Side.Reads() && !kept && !moved:
		return patch(volumes.Keeper(volumes.Forever))
	case !emptied && !kept && !moved && mover.Standby != nil && !mover.Standby.Ended:
		is := *mover.Standby
		is.Ended, is.Next, is.Lost = true, time.Time{}, nil
		return patch(is.Patch(0))
	case !emptied && !kept && !moved:
		return again(moverLook)
	case !emptied && kept && now.Before(mover.Until):
		return again(min(mover.Until.Sub(now), moverLook) + time.Second)
	case emptied && !kept:
		return patch(volumes.Keeper(now))
	}
	if after := unseen(); after > 0 && !moved {
		return again(after)
	}
	return end()
}
