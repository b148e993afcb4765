package sessions

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// Who holds releases is told: the site before the admin, also while the site has no session.
func TestWhoHoldsReleasesIsTold(t *testing.T) {
	st := &v1alpha1.SyncTarget{}
	said := func() string {
		c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionTakesReleases)
		if c == nil {
			return ""
		}
		return string(c.Status) + " " + c.Reason + " " + c.Message
	}
	hold := func(annotated bool) {
		if st.Annotations = nil; annotated {
			st.Annotations = map[string]string{v1alpha1.AnnotationHoldReleases: "stocktaking"}
		}
	}
	site := &tunnel.ChildStatus{Conditions: []tunnel.Condition{{Type: tunnel.TakesReleases, Status: tunnel.False,
		Reason: v1alpha1.ReasonHeldAtSite, Message: "harvest"}}}
	for i, c := range []struct {
		annotated bool
		said      *tunnel.ChildStatus
		want      string
	}{
		{false, nil, ""},
		{true, nil, "False HeldByAdmin the annotation skerry.dev/hold-releases holds releases here: stocktaking; to " +
			"have them taken again remove it; " + tunnel.HoldCovers},
		{true, site, "False HeldAtSite harvest"},
		{true, nil, "False HeldAtSite harvest"}, // a new session that has said nothing yet
		{true, &tunnel.ChildStatus{}, "False HeldByAdmin"},
		{false, nil, ""},
		{false, site, "False HeldAtSite harvest"},
		{false, &tunnel.ChildStatus{}, ""},
	} {
		hold(c.annotated)
		relate(st, c.said)
		if is := said(); !strings.HasPrefix(is, c.want) || c.want == "" && is != "" {
			t.Errorf("%d: %s", i, is)
		}
	}
}

// A target that is held is not in trouble: somebody wants it so.
func TestWhoIsHeldIsNotInTrouble(t *testing.T) {
	st := &v1alpha1.SyncTarget{}
	set(st, v1alpha1.ConditionTakesReleases, "False", v1alpha1.ReasonHeldAtSite, "")
	if is := troubles("a", &st.Status); is.Troubled != 0 {
		t.Errorf("%+v", is)
	}
}
