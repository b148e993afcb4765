package sessions

import (
	"log/slog"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// updateConditions takes over what the agent says of itself: the whole list, the last value wins.
func (s *session) updateConditions(said tunnel.ChildStatus, dropped int, log *slog.Logger) {
	s.mu.Lock()
	before := s.said
	s.said = &said
	s.mu.Unlock()
	if dropped > 0 {
		log.Warn("the target says of itself what it may not say; that is dropped", "conditions", dropped)
	}
	s.reportWithheld(before, said.Withheld)
	for _, c := range said.Conditions {
		if c.Status == tunnel.False && (before == nil || !slices.Contains(before.Conditions, c)) {
			log.Warn("the target reports a problem", "condition", c.Type, "reason", c.Reason, "message", c.Message)
		}
	}
}

// relate puts what the agent says of itself into the status. What it does not say any more is taken
// out; while it has said nothing, what it said in an earlier session stays.
func relate(st *v1alpha1.SyncTarget, said *tunnel.ChildStatus) {
	if said == nil {
		return
	}
	for _, kind := range tunnel.ConditionTypes() {
		if !slices.ContainsFunc(said.Conditions, func(c tunnel.Condition) bool { return c.Type == kind }) {
			apimeta.RemoveStatusCondition(&st.Status.Conditions, kind)
		}
	}
	for _, c := range said.Conditions {
		set(st, c.Type, metav1.ConditionStatus(c.Status), c.Reason, c.Message)
	}
}

// withheldCondition returns the condition for which the target does not do what is placed on it,
// nil when there is none.
func withheldCondition(st *v1alpha1.SyncTarget) *metav1.Condition {
	for _, kind := range []string{tunnel.CenterTrusted, tunnel.StoreHealthy, tunnel.TargetReachable} {
		if c := apimeta.FindStatusCondition(st.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			return c
		}
	}
	return nil
}
