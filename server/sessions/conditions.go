package sessions

import (
	"fmt"
	"log/slog"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel"
)

// updateConditions takes over what the agent says of itself: the whole list, the last value wins.
func (s *session) updateConditions(said tunnel.ChildStatus, dropped int, log *slog.Logger) {
	s.mu.Lock()
	before := s.said
	if said.Offer == nil && before != nil {
		said.Offer = before.Offer // it is sent when it changes
	}
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
	defer holdReleases(st)
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

// holdReleases says whether an admin has releases held on the target. What the site says of itself comes
// before that.
func holdReleases(st *v1alpha1.SyncTarget) {
	c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionTakesReleases)
	if c != nil && c.Reason == v1alpha1.ReasonHeldAtSite {
		return
	}
	why, held := st.Annotations[v1alpha1.AnnotationHoldReleases]
	if !held {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionTakesReleases)
		return
	}
	if why != "" {
		why = ": " + placement.Words(why)
	}
	set(st, v1alpha1.ConditionTakesReleases, metav1.ConditionFalse, v1alpha1.ReasonHeldByAdmin, fmt.Sprintf(
		"the annotation %s holds releases here%s; to have them taken again remove it; %s", v1alpha1.AnnotationHoldReleases,
		why, tunnel.HoldCovers))
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
