package placement

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Departure is what of a SyncTarget may make workloads leave it.
type Departure struct {
	// Taints of the target. Those with the effect NoExecute have TimeAdded.
	Taints []corev1.Taint
	// EvictAfter is how long the target may be away before its workloads leave; 0 is for ever.
	EvictAfter time.Duration
	// AwaySince is since when the target has no session, zero while it has one.
	AwaySince time.Time
	// BackSince is since when the target has a session, zero while it has none or nobody knows.
	BackSince time.Time
	// Removing: the SyncTarget is being deleted and is to be emptied. Discard: also of what nothing
	// replaces.
	Removing, Discard bool
	// MaxConcurrent is how many units leave the target at a time while it is drained; 0 is MaxLeaving.
	MaxConcurrent int
	// RestartJobs: what has begun there and runs to an end of its own is stopped when the target is
	// drained, and begins anew elsewhere.
	RestartJobs bool
}

// Restarts reports whether what has begun on the target is stopped now, to begin anew elsewhere.
func (d Departure) Restarts() bool { return d.RestartJobs && (d.Removing || d.Drained()) }

// Same reports whether d and o are the same but for how long the target has been away, or back.
func (d Departure) Same(o Departure) bool {
	return d.Removing == o.Removing && d.Discard == o.Discard && d.EvictAfter == o.EvictAfter &&
		d.MaxConcurrent == o.MaxConcurrent && d.RestartJobs == o.RestartJobs && sameTaints(d.Taints, o.Taints)
}

// AwayText says since when the target is without a session, and what becomes of what is there; empty
// while it has one.
func (d Departure) AwayText() string {
	if d.AwaySince.IsZero() {
		return ""
	}
	text := "it is away since " + d.AwaySince.UTC().Format(time.RFC3339)
	if d.EvictAfter <= 0 {
		return text + " and keeps what is there: its SyncTarget has no spec.evictAfter"
	}
	return text + "; spec.evictAfter of its SyncTarget counts from then and ends at " +
		d.AwaySince.Add(d.EvictAfter).UTC().Format(time.RFC3339)
}

// Drained reports whether an admin drains the target, or has said that it is down.
func (d Departure) Drained() bool {
	return slices.ContainsFunc(d.Taints, func(t corev1.Taint) bool {
		return (t.Key == v1alpha1.TaintDrain || t.Key == v1alpha1.TaintOutOfService) &&
			t.Effect == corev1.TaintEffectNoExecute
	})
}

// Takes reports whether the target takes something new of what tolerates no taint.
func (t Target) Takes() bool {
	return !t.Unschedulable && !slices.ContainsFunc(t.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	})
}

// Leave is why, and from when on, a unit has to leave a target.
type Leave struct {
	Target string
	Reason LeaveReason
	// At is from when on; it may lie in the future.
	At time.Time
}

// LeaveReason is why a unit has to leave a target.
type LeaveReason string

// The reasons.
const (
	// LeaveRemoved: the target is being deleted.
	LeaveRemoved LeaveReason = "Removed"
	// LeaveDiscarded: the target is being deleted. Nothing stays, also where nothing else fits.
	LeaveDiscarded LeaveReason = "Discarded"
	// LeaveDrained: an admin drains the target.
	LeaveDrained LeaveReason = "Drained"
	// LeaveOutOfService: an admin has said that nothing runs at the target any more.
	LeaveOutOfService LeaveReason = "OutOfService"
	// LeaveTainted: the target has another taint with the effect NoExecute.
	LeaveTainted LeaveReason = "Tainted"
	// LeaveEvicted: the unit was asked to leave the target.
	LeaveEvicted LeaveReason = "Evicted"
	// LeaveOverflow: the target has more than its bounds, and this unit goes.
	LeaveOverflow LeaveReason = "OverBounds"
	// LeaveAway: the target is without a session for longer than it may be.
	LeaveAway LeaveReason = "Away"
	// LeaveFailback: a target that preferences weigh more has been back for long enough.
	LeaveFailback LeaveReason = "Failback"
)

// Automatic reports whether nobody asked for it by name, so that it stops while more than half of
// all targets are concerned.
func (r LeaveReason) Automatic() bool { return r == LeaveTainted || r == LeaveAway }

// Leave returns why and when a unit with these tolerations has to leave the target, the earliest if
// there are several. It reports false if it need not.
func (t Target) Leave(tolerations []corev1.Toleration) (first Leave, must bool) {
	add := func(reason LeaveReason, at time.Time) {
		if !must || at.Before(first.At) {
			first, must = Leave{Target: t.Name, Reason: reason, At: at}, true
		}
	}
	if t.Removing {
		if t.Discard {
			return Leave{Target: t.Name, Reason: LeaveDiscarded}, true
		}
		return Leave{Target: t.Name, Reason: LeaveRemoved}, true
	}
	for i := range t.Taints {
		taint := &t.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		lasts, tolerated, limited := toleration(taint, tolerations)
		if tolerated && !limited {
			continue
		}
		reason := LeaveTainted
		switch taint.Key {
		case v1alpha1.TaintDrain:
			reason = LeaveDrained
		case v1alpha1.TaintOutOfService:
			reason = LeaveOutOfService
		}
		var at time.Time
		if taint.TimeAdded != nil {
			at = taint.TimeAdded.Add(lasts)
		}
		add(reason, at)
	}
	if t.EvictAfter > 0 && !t.AwaySince.IsZero() {
		add(LeaveAway, t.AwaySince.Add(t.EvictAfter))
	}
	return first, must
}

// Halted reports whether more than half of all targets are away, or are to be left, without an
// admin's will: then nobody knows what is wrong, and nothing moves by itself, as in the zones of
// Kubernetes' node lifecycle controller. Targets that are drained or removed do not count.
func Halted(targets []Target, now time.Time) bool {
	concerned, all := 0, 0
	for _, t := range targets {
		if t.Removing || t.Drained() {
			continue
		}
		all++
		if l, must := t.Leave(nil); !t.AwaySince.IsZero() || must && l.Reason.Automatic() && !l.At.After(now) {
			concerned++
		}
	}
	return 2*concerned > all
}

// leaving is what a unit has to leave in a world.
type leaving struct {
	// now are the reasons by target, of all targets; halted are the targets of current that it would
	// have to leave were it not for World.Halted; next is when a target of current is to be left that
	// is not yet, zero if none is.
	now    map[string]LeaveReason
	halted []string
	next   time.Time
}

func leavingOf(w World, current []string, tolerations []corev1.Toleration, now time.Time) leaving {
	out := leaving{now: map[string]LeaveReason{}}
	for _, t := range w.Targets {
		l, must := t.Leave(tolerations)
		here := must && contains(current, t.Name)
		switch {
		case !must:
		case !l.At.After(now) && here && l.Reason.Automatic() && w.Halted:
			out.halted = append(out.halted, t.Name)
		case !l.At.After(now):
			out.now[t.Name] = l.Reason
		case here && (out.next.IsZero() || l.At.Before(out.next)):
			out.next = l.At
		}
	}
	return out
}
