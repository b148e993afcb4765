package sessions

import (
	"cmp"
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// The Events of a SyncTarget that workloads have to leave. What was told stands in its status, so that a
// center that restarts does not tell it again.
const (
	drainStarted = "DrainStarted"
	drainBlocked = "DrainBlocked"
	drained      = "Drained"
)

// block is something that keeps units on a target. The message says what to do.
type block struct{ reason, message string }

// waysOut are what to do about reasons whose messages do not say it, or not all of it.
var waysOut = map[string]string{
	placement.StayPinned:         ": name another site",
	placement.StayNoOther:        ": uncordon or join a site that fits, or widen the selector",
	placement.StayOverBounds:     ": raise spec.bounds of a site that fits",
	placement.StayBudget:         ": wait, or lower minAvailable",
	string(placement.Suspended):  ": set spec.suspend to false",
	string(placement.JobRunning): ", or begin it anew elsewhere: skerry target drain --jobs Restart",
}

// blocksOf are what keeps units, the first unit of each reason.
func blocksOf(stuck []placement.Moving) (out []block) {
	for _, m := range stuck {
		reason, text := cmp.Or(m.Reason, string(m.Phase)), m.Message
		if slices.ContainsFunc(out, func(b block) bool { return b.reason == reason }) {
			continue
		}
		out = append(out, block{reason, fmt.Sprintf("%s: %s", m.Key, placement.Words(text+waysOut[reason]))})
	}
	return out
}

// drainBefore is how far a drain was.
type drainBefore struct {
	began, ended bool
	told         []string // reasons
}

// drainOf reads it from a status.
func drainOf(st *v1alpha1.SyncTarget) (b drainBefore) {
	if c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionDrained); c != nil {
		b.began, b.ended = true, c.Status == metav1.ConditionTrue
	}
	if st.Status.Drain != nil {
		b.told = st.Status.Drain.BlockedBy
	}
	return b
}

// news returns the Events of what was not so before, and puts into the status which reasons were told: each
// once until the drain has ended.
func (b drainBefore) news(st *v1alpha1.SyncTarget, left placement.Remaining, blocks []block) (out []placement.Event) {
	tell := func(warning bool, reason, message string) {
		out = append(out, placement.Event{
			Key: store.Key{
				Space: v1alpha1.RootSpace, Group: syncTargets.Group, Resource: syncTargets.Resource, Name: st.Name,
			},
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "SyncTarget", UID: string(st.UID),
			Warning: warning, Reason: reason, Message: message,
		})
	}
	c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionDrained)
	if c.Status == metav1.ConditionTrue {
		if !b.ended {
			tell(false, drained, c.Message)
		}
		return out
	}
	if !b.began {
		tell(false, drainStarted, fmt.Sprintf("%s (%s)", leave(left.Units), left.Why))
	}
	told := slices.Clone(b.told)
	for _, block := range blocks {
		if !slices.Contains(told, block.reason) {
			told = append(told, block.reason)
			tell(true, drainBlocked, block.reason+": "+block.message)
		}
	}
	st.Status.Drain.BlockedBy = told
	return out
}

// leave says how many units have to leave a site.
func leave(units int) string {
	if units == 1 {
		return "1 unit has to leave"
	}
	return fmt.Sprintf("%d units have to leave", units)
}
