package sessions

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// drains reports whether the status of a target says how far it is drained, or has to, and that may
// change.
func drains(st *v1alpha1.SyncTarget) bool {
	if st == nil {
		return false
	}
	c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionDrained)
	leaves := slices.ContainsFunc(st.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute
	})
	if c == nil {
		return leaves
	}
	return c.Status != metav1.ConditionTrue || !leaves && st.Spec.EvictAfter == nil
}

// redecided reports whether a spec lets other things be on the target than before.
func redecided(before, now *v1alpha1.SyncTargetSpec) bool {
	return !equality.Semantic.DeepEqual(before.Taints, now.Taints) ||
		!equality.Semantic.DeepEqual(before.Bounds, now.Bounds) ||
		!equality.Semantic.DeepEqual(before.Elastic, now.Elastic) ||
		!equality.Semantic.DeepEqual(before.EvictAfter, now.EvictAfter)
}

// setDrainedCondition says how far a target is that workloads have to leave. It returns the Events that
// tell what is new of that.
func (srv *Server) setDrainedCondition(st *v1alpha1.SyncTarget, s *session) []placement.Event {
	left, leaves := srv.cfg.Delivery.Remaining(st.Name)
	if !leaves || left.Why == placement.LeaveRemoved || left.Why == placement.LeaveDiscarded {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionDrained)
		st.Status.Drain = nil
		return nil
	}
	before := drainOf(st)
	moves := srv.cfg.Delivery.MovesOf(st.Name)
	stuck := stuckOf(moves)
	blocks := blocksOf(stuck)
	reported := srv.cfg.Inboxes.Len(st.Name)
	st.Status.Drain = &v1alpha1.SyncTargetDrain{
		Units: int32(left.Units), Stuck: int32(len(stuck)), Reported: int32(reported), Ended: int32(left.Ended),
	}
	status, reason, message := metav1.ConditionFalse, "Draining", here(left.Units)
	_, acked := srv.remains(s)
	switch {
	case left.Units > 0 && left.Halted:
		reason, message = "EvictionHalted", "more than half of all targets are away or tainted, so nothing moves by itself. "+
			"To move it all the same: skerry target drain "+st.Name
		blocks = []block{{reason, message}}
	case left.Units > 0 && len(stuck) > 0:
		if len(stuck) >= left.Units {
			reason = string(placement.CannotLeave)
		}
		message += fmt.Sprintf(", and %d cannot leave: %s: %s", len(stuck), stuck[0].Key, placement.Words(stuck[0].Message))
	case left.Units > 0:
		if waiting := waitingForTurns(moves, st.Name); waiting > 0 {
			message += fmt.Sprintf(", %d of them until others have left (spec.drain.maxConcurrent)", waiting)
		}
	case s == nil:
		status, reason, message = metav1.ConditionTrue, "Left", "nothing is placed here any more; "+
			"the agent has no session: what still runs is removed when it is back"
	case left.Ended > 0:
		status, reason, message = metav1.ConditionTrue, "Left",
			fmt.Sprintf("all has left but %d objects that have run to their end", left.Ended)
	case !acked || reported > 0:
		if reason, message = emptying(reported, acked, st.Status.Refusals); reason == v1alpha1.ReasonNotEmpty {
			blocks = []block{{reason, message}}
		}
	default:
		status, reason, message = metav1.ConditionTrue, "Empty", "nothing that was placed here is left"
	}
	set(st, v1alpha1.ConditionDrained, status, reason, message)
	return before.news(st, left, blocks)
}

// stuckOf are the moves of the units that do not leave a target by themselves.
func stuckOf(moves []placement.Moving) (out []placement.Moving) {
	for _, m := range moves {
		if m.Phase.Stuck() {
			out = append(out, m)
		}
	}
	return out
}

// waitingForTurns is how many units leave a target when others have left it.
func waitingForTurns(moves []placement.Moving, target string) (n int) {
	for _, m := range moves {
		if m.Phase == placement.WaitsForTurn && slices.Contains(m.From, target) {
			n++
		}
	}
	return n
}

// emptying says what is still on a target that all units have left: what goes, or, once the target has
// acknowledged that all is to go, what it keeps.
func emptying(reported int, acked bool, refusals []v1alpha1.Refusal) (reason, message string) {
	message = fmt.Sprintf("%d objects and pods are still on the target", reported)
	if !acked || len(refusals) == 0 {
		return "Emptying", message
	}
	first := refusals[0]
	return v1alpha1.ReasonNotEmpty, fmt.Sprintf("%s; %s: %s", message, first.Object, placement.Words(first.Message))
}

// here says how many units are still on a site.
func here(units int) string {
	if units == 1 {
		return "1 unit is still here"
	}
	return fmt.Sprintf("%d units are still here", units)
}
