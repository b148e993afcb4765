package placement

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// CannotLeave is the phase of a unit that has to leave a target and stays, and the reason of its
// condition Scheduled.
const CannotLeave Phase = "CannotLeave"

// The reasons of a Stay.
const (
	// StayPinned: the wish names this target alone.
	StayPinned = "Pinned"
	// StayNoOther: no other target fits.
	StayNoOther = "NoOtherTarget"
	// StayOverBounds: it asks for more than the target's bounds, and no other target fits.
	StayOverBounds = "OverBounds"
	// StayBudget: a Placement has to stay available on as many targets.
	StayBudget = "DisruptionBudget"
	// StayUnfenced: it must not run twice, and nothing says that it does not run there any more.
	StayUnfenced = "MayStillRun"
	// StayStandby: it is to begin on the standby of its volumes, which is not possible yet.
	StayStandby = "AwaitsStandby"
)

// Terms are how a unit leaves targets.
type Terms struct {
	Tolerations []corev1.Toleration
	// MinAvailable is how many targets must keep it; 0 where nothing says so.
	MinAvailable int
	// BreakFirst: it leaves a target before it joins another.
	BreakFirst bool
	// Load is what it asks of each target.
	Load Load
	// Overflows are targets of current that are over their bounds and that this unit has to leave.
	Overflows []string
	// Evict are targets that it was asked to leave.
	Evict []string
	// Unfenced are targets of current that are away and on which it may run for ever, as far as
	// anybody knows, though it must not run twice; and what to do, see Absent.
	Unfenced map[string]string
}

// Terms are how what a Placement selects leaves targets.
func (r *Rule) Terms(w World) Terms {
	terms := Terms{BreakFirst: r.BreakFirst, Tolerations: r.Wish.Constraints.Tolerations()}
	if r.Disruption != nil {
		n := len(r.Wish.Fits(w))
		if r.Wish.Count > 0 {
			n = min(n, r.Wish.Count)
		}
		terms.MinAvailable = MinAvailable(r.Disruption, n)
	}
	return terms
}

// MinAvailable is how many targets must keep a Placement that wishes n targets; 0 where its policy
// does not say.
func MinAvailable(policy *v1alpha1.DisruptionPolicy, n int) int {
	if policy == nil || policy.MinAvailable == nil {
		return 0
	}
	if policy.MinAvailable.Type == intstr.Int {
		return max(0, int(policy.MinAvailable.IntVal))
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(policy.MinAvailable.StrVal, "%"))
	if err != nil || percent < 0 {
		return 0
	}
	return (min(percent, 100)*n + 99) / 100
}

// Stay is a target that a unit has to leave and stays on.
type Stay struct {
	Target, Reason, Message string
}

// Vacated is the answer of Vacate.
type Vacated struct {
	Choice
	// Stays are the targets of Choice that have to be left and are not, yet.
	Stays []Stay
	// Gone are targets that are left at once, because they are discarded and nothing replaces them.
	Gone []string
	// Halted are targets of Choice that would have to be left were it not for World.Halted.
	Halted []string
	// Full says of targets that fit, but have no room, of what.
	Full map[string]Shortage
	// Next is when a target has to be left that need not be left yet, or one is returned to; zero if
	// there is none.
	Next time.Time
}

// Vacate is Choose for a unit that may have to leave some targets. Those are not chosen where others
// fit: then an ordinary move leads to those. Where too few fit, as many of them stay as keep the
// wish's count and MinAvailable, but never those that are discarded.
func Vacate(w Wish, world World, current []string, terms Terms, now time.Time) Vacated {
	if w.None {
		return Vacated{Choice: Choose(w, world, current)}
	}
	leave := leavingOf(world, current, terms.Tolerations, now)
	out := Vacated{Halted: leave.halted, Next: leave.next}
	reasons := leave.now
	for _, name := range terms.Overflows {
		if reasons[name] == "" {
			reasons[name] = LeaveOverflow
		}
	}
	for _, name := range terms.Evict {
		if reasons[name] == "" {
			reasons[name] = LeaveEvicted
		}
	}
	kept := slices.DeleteFunc(slices.Clone(current), func(name string) bool { return reasons[name] != "" })
	e, problem := w.evaluation(&world)
	all := e.candidates()
	fits := fitting(all)
	if out.Full = full(fits, current, terms.Load); len(reasons)+len(out.Full) == 0 {
		out.Choice = e.choose(all, problem, kept)
	} else {
		out.Choice = Choose(w, world.without(reasons, roomless(out.Full), len(kept) < len(current)), kept)
	}
	out.goBack(w, world, kept, reasons, now)
	out.tellFull()
	var may []string // leaving targets that could stay
	for _, name := range current {
		if _, ok := fits[name]; ok && reasons[name] != "" && reasons[name] != LeaveDiscarded {
			may = append(may, name)
		}
	}
	short := max(1, terms.MinAvailable, min(w.Count, len(current))) - len(out.Targets)
	stay := map[string]string{}
	for _, name := range may[:max(0, min(short, len(may)))] {
		if stay[name] = StayNoOther; w.pins(name) {
			stay[name] = StayPinned
		} else if reasons[name] == LeaveOverflow {
			stay[name] = StayOverBounds
		} else if len(out.Targets) > 0 && (w.Count == 0 || len(out.Targets) >= w.Count) {
			stay[name] = StayBudget // nothing but the budget keeps it
		}
	}
	if terms.BreakFirst && terms.MinAvailable > 0 {
		keep := len(out.Targets) - len(without(out.Targets, current))
		left := max(0, keep+len(may)-terms.MinAvailable) // how many may be away at once; the others are lost anyway
		for _, name := range may {
			if stay[name] != "" {
				continue
			}
			if left--; left < 0 {
				stay[name] = StayBudget
			}
		}
	}
	for _, name := range current {
		if terms.Unfenced[name] != "" && reasons[name] != "" && reasons[name] != LeaveDiscarded {
			stay[name] = StayUnfenced
		}
	}
	out.stay(w, current, stay, terms)
	out.leave(world, current, reasons, terms.Tolerations)
	if len(out.Targets) == 0 {
		for _, name := range current {
			if reasons[name] == LeaveDiscarded {
				out.Gone = append(out.Gone, name)
			}
		}
	}
	return out
}

// stay puts the targets that stay back into the choice, in current's order, and takes what was to
// replace them out of it where that would be more than the wish's count.
func (v *Vacated) stay(w Wish, current []string, stay map[string]string, terms Terms) {
	if len(stay) == 0 {
		return
	}
	var old, fresh []string
	for _, name := range current {
		if stay[name] != "" || contains(v.Targets, name) {
			old = append(old, name)
		}
	}
	fresh = without(v.Targets, current)
	if w.Count > 0 {
		fresh = fresh[:max(0, min(len(fresh), w.Count-len(old)))]
	}
	why := v.Choice.Message
	v.Targets = append(old, fresh...)
	for _, name := range current {
		if reason := stay[name]; reason != "" {
			text := staySentence(name, reason, why, terms.MinAvailable)
			if reason == StayUnfenced {
				text = terms.Unfenced[name]
			}
			v.Stays = append(v.Stays, Stay{name, reason, text})
		}
	}
	v.Reason, v.Message = string(CannotLeave), v.Stays[0].Message
	if n := len(v.Stays); n > 1 {
		v.Message += fmt.Sprintf("; and %d more targets", n-1)
	}
}

// leave adds the targets that are left, and why.
func (v *Vacated) leave(w World, current []string, reasons map[string]LeaveReason, tolerations []corev1.Toleration) {
	for _, t := range w.Targets {
		if reason := reasons[t.Name]; reason != "" && contains(current, t.Name) && !contains(v.Targets, t.Name) {
			v.Left = append(v.Left, Verdict{
				Target: t.Name, Filter: Filter(reason), Message: leaveSentence(t, reason, tolerations),
			})
		}
	}
}

func leaveSentence(t Target, reason LeaveReason, tolerations []corev1.Toleration) string {
	switch reason {
	case LeaveRemoved, LeaveDiscarded:
		return "its SyncTarget is being deleted"
	case LeaveDrained:
		return "it is drained"
	case LeaveOutOfService:
		return "it is out of service"
	case LeaveOverflow:
		return "more is placed there than its bounds allow"
	case LeaveEvicted:
		return "it was asked to leave"
	case LeaveFailback:
		return "a target that its Placement prefers has been back for spec.failover.failbackAfter"
	case LeaveAway:
		return "it is away for longer than spec.evictAfter of its SyncTarget"
	}
	for i := range t.Taints {
		if t.Taints[i].Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if _, tolerated, limited := toleration(&t.Taints[i], tolerations); !tolerated || limited {
			return "it has the taint " + t.Taints[i].ToString() + ", which is not tolerated"
		}
	}
	return "it has a taint that is not tolerated"
}

func staySentence(name, reason, why string, least int) string {
	switch reason {
	case StayPinned:
		return fmt.Sprintf("it is to leave %s and stays: its label %s or its Placement names %s alone",
			name, v1alpha1.LabelTarget, name)
	case StayBudget:
		return fmt.Sprintf("it is to leave %s and stays for now: spec.disruption.minAvailable of its Placement "+
			"keeps it on %d targets", name, least)
	}
	if reason == StayOverBounds {
		why = "what is placed there is over spec.bounds of the SyncTarget"
	}
	text := fmt.Sprintf("it is to leave %s and stays: no other target fits", name)
	if why != "" {
		text += " (" + why + ")"
	}
	return text
}

// pins reports whether the wish is for this target and no other.
func (w Wish) pins(name string) bool {
	return len(w.Selectors) == 0 && len(w.Names) == 1 && w.Names[0] == name
}

// without is the world in which no new decision takes a target that is to be left or closed; or, where the unit
// leaves one, a target that is away: what leaves a target needs one that can be ready.
func (w World) without(leaving map[string]LeaveReason, closed map[string]string, leaves bool) World {
	if len(leaving)+len(closed) == 0 {
		return w
	}
	targets := slices.Clone(w.Targets)
	for i := range targets {
		t := &targets[i]
		switch {
		case leaving[t.Name] != "":
			t.Closed = "it is to be left"
		case closed[t.Name] != "":
			t.Closed = closed[t.Name]
		case leaves && !t.Connected:
			t.Closed = "it is away"
		}
	}
	w.Targets = targets
	return w
}

// Shutting returns the world in which some targets take nothing new, and why.
func (w World) Shutting(why map[string]string) World { return w.without(nil, why, false) }

// Closing returns the world in which targets without room for a load take nothing new.
func (w World) Closing(wish Wish, current []string, load Load) World {
	e, _ := wish.evaluation(&w)
	return w.without(nil, roomless(full(fitting(e.candidates()), current, load)), false)
}

// roomless says why targets that are full take nothing new.
func roomless(full map[string]Shortage) map[string]string {
	out := map[string]string{}
	for name, short := range full {
		out[name] = short.closed()
	}
	return out
}

// full are the targets that fit, are not in use yet and have no room for a load.
func full(fits map[string]*Target, current []string, load Load) map[string]Shortage {
	var out map[string]Shortage
	for name, t := range fits {
		if contains(current, name) {
			continue
		}
		if short := t.Short(t.Objects, load); short != (Shortage{}) {
			if out == nil {
				out = map[string]Shortage{}
			}
			out[name] = short
		}
	}
	return out
}

// OverBounds is the reason of a choice that finds no target, or too few, because those that fit have
// no room within their bounds.
const OverBounds = "OverBounds"

// tellFull says of a choice that found too little that targets have no room.
func (v *Vacated) tellFull() {
	if len(v.Full) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(v.Full))
	first := v.Full[names[0]]
	text := first.at(names[0])
	if more := len(names) - 1; more > 0 {
		text += fmt.Sprintf(" and of %d more", more)
	}
	switch {
	case v.Reason == "Unschedulable" && len(v.Targets) == 0:
		v.Reason, v.Message = first.Reason, text+first.wayOut()
	case v.Reason == "TooFewTargets":
		v.Message += "; " + text
	case v.Reason == "" && len(v.Targets) > 0:
		v.Message = text
	}
}
