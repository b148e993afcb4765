package sessions

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// What a relay says of the sites below it stands in its status, with the next step, and goes on up,
// also while the relay is away.
func TestWhatIsBelowARelay(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("nordic")
	l := c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Hello.Relay = true })
	status := func() v1alpha1.SyncTargetStatus { return c.api.status(t, "nordic") }
	l.says.ReportSubtree(&tunnel.SubtreeStatus{})
	within(t, "nothing below", func() bool { return says(status(), v1alpha1.ConditionSubtreeHealthy, "True/AllWell") })
	if status().Below != nil {
		t.Errorf("below: %+v", status().Below)
	}
	told, _ := c.sessions.Subtree()
	if told == nil || told.Troubled != 0 || told.First != nil {
		t.Errorf("it goes on as %+v", told)
	}
	trouble := &tunnel.SubtreeStatus{
		Troubled: 7,
		First: []tunnel.Trouble{{Path: "fjord/vik", Type: tunnel.ClockInSync, Reason: "Behind"},
			{Path: "oslo", Type: tunnel.CenterTrusted, Reason: tunnel.CenterRegressed}},
	}
	l.says.ReportSubtree(trouble)
	within(
		t,
		"the sites in trouble",
		func() bool { return says(status(), v1alpha1.ConditionSubtreeHealthy, "False/SitesHold") },
	)
	want := &v1alpha1.SyncTargetBelow{
		Troubled: 7,
		First: []v1alpha1.SiteInTrouble{{Path: "fjord/vik", Condition: tunnel.ClockInSync, Reason: "Behind"},
			{Path: "oslo", Condition: tunnel.CenterTrusted, Reason: tunnel.CenterRegressed}},
	}
	if is := status(); !reflect.DeepEqual(is.Below, want) || !says(is, v1alpha1.ConditionSynced, "True") {
		t.Errorf("status %+v", is)
	}
	message := apimeta.FindStatusCondition(status().Conditions, v1alpha1.ConditionSubtreeHealthy).Message
	for _, part := range []string{
		"fjord/vik (Behind), oslo (CenterRegressed), and 5 more",
		"(nordic/fjord, nordic)",
		"skerry target accept NAME --dry-run",
	} {
		if !strings.Contains(message, part) {
			t.Errorf("%q is not in %q", part, message)
		}
	}
	l.stop()
	within(t, "its end", func() bool { return says(status(), v1alpha1.ConditionConnected, "False") })
	told, _ = c.sessions.Subtree()
	if told.Reach = nil; told.Troubled == 0 {
		t.Error("nothing goes on")
	}
	if wanted := (&tunnel.SubtreeStatus{
		Troubled: 7,
		First: []tunnel.Trouble{{Path: "nordic/fjord/vik", Type: tunnel.ClockInSync, Reason: "Behind"},
			{Path: "nordic/oslo", Type: tunnel.CenterTrusted, Reason: tunnel.CenterRegressed}},
	}); !reflect.DeepEqual(
		told,
		wanted,
	) {
		t.Errorf("it goes on as %+v", told)
	}
	l = c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Hello.Relay = true })
	l.says.ReportSubtree(&tunnel.SubtreeStatus{})
	within(
		t,
		"the end of it",
		func() bool { told, _ := c.sessions.Subtree(); return told.Troubled == 0 && status().Below == nil },
	)
	l.says.ReportSubtree(
		&tunnel.SubtreeStatus{
			Troubled: 1,
			First:    trouble.First[1:],
			Reach: &tunnel.SubtreeReach{
				Targets:   3,
				Connected: 1,
				Away:      []tunnel.SiteAway{{Path: "fjord/vik", Since: 1763794800}},
			},
		},
	)
	within(
		t,
		"the sites that are away beside the trouble",
		func() bool { return says(status(), v1alpha1.ConditionSubtreeHealthy, "False/SitesHold") },
	)
	if is := status().Below; is == nil || is.Targets == nil || *is.Targets != 3 || *is.Connected != 1 ||
		len(is.Away) != 1 ||
		is.Away[0].Path != "fjord/vik" ||
		is.Away[0].Since.Unix() != 1763794800 {
		t.Errorf("below: %+v", is)
	}
	l.says.ReportSubtree(
		&tunnel.SubtreeStatus{
			Reach: &tunnel.SubtreeReach{
				Targets:   3,
				Connected: 1,
				Away:      []tunnel.SiteAway{{Path: "fjord/vik", Since: 1763794800}},
			},
		},
	)
	within(
		t,
		"the sites that are away",
		func() bool { return says(status(), v1alpha1.ConditionSubtreeHealthy, "False/SitesDisconnected") },
	)
	message = apimeta.FindStatusCondition(status().Conditions, v1alpha1.ConditionSubtreeHealthy).Message
	if want := "2 of 3 sites below this relay are not connected, longest: fjord/vik (since 2025-11-22 07:00 UTC). What runs there goes on"; message != want {
		t.Errorf("message %q", message)
	}
	if is := status().Below; is.Troubled != 0 || is.First != nil {
		t.Errorf("trouble that is over: %+v", is)
	}
	l.says.ReportSubtree(&tunnel.SubtreeStatus{Reach: &tunnel.SubtreeReach{Targets: 3, Connected: 3}})
	within(t, "all are back", func() bool { return says(status(), v1alpha1.ConditionSubtreeHealthy, "True/AllWell") })
	if is := status().Below; is == nil || *is.Connected != 3 || is.Away != nil {
		t.Errorf("below: %+v", is)
	}
	l.says.ReportSubtree(nil)
	within(t, "a site that is no relay", func() bool {
		return apimeta.FindStatusCondition(status().Conditions, v1alpha1.ConditionSubtreeHealthy) == nil
	})
}

// Of each target the worst counts once, names are bounded, and what is gone or well again is not
// told any more.
func TestTroublesAreCounted(t *testing.T) {
	srv := &Server{subtree: newSubtreeStatus()}
	see := func(name string, status v1alpha1.SyncTargetStatus) {
		t.Helper()
		srv.subtree.observe(name, &status)
	}
	bad := func(kinds ...string) (out v1alpha1.SyncTargetStatus) {
		st := &v1alpha1.SyncTarget{}
		for _, kind := range kinds {
			set(st, kind, "False", "Because", "")
		}
		return st.Status
	}
	told := func(n int, paths ...string) {
		t.Helper()
		is, _ := srv.Subtree()
		var names []string
		for _, x := range is.First {
			names = append(names, x.Path+" "+x.Type)
		}
		if is.Troubled != n || !slices.Equal(names, paths) {
			t.Errorf("%d: %q, want %d: %q", is.Troubled, names, n, paths)
		}
	}
	see("oslo", bad(v1alpha1.ConditionSynced, v1alpha1.ConditionConnected))
	told(0)
	see("oslo", bad(tunnel.StoreHealthy, tunnel.ClockInSync, tunnel.CenterTrusted))
	see("fjord", bad(v1alpha1.ConditionUnique))
	told(2, "fjord Unique", "oslo CenterTrusted")
	fjord := bad(tunnel.TargetReachable)
	fjord.Below = &v1alpha1.SyncTargetBelow{Troubled: 30}
	for i := range 10 {
		fjord.Below.First = append(
			fjord.Below.First,
			v1alpha1.SiteInTrouble{Path: fmt.Sprint("site-", i), Condition: tunnel.ClockInSync, Reason: "Ahead"},
		)
	}
	see("fjord", fjord)
	is, changed := srv.Subtree()
	if is.Troubled != 32 || len(is.First) != tunnel.MaxTroubles || is.First[0].Path != "fjord" ||
		is.First[9].Path != "fjord/site-8" {
		t.Errorf("%+v", is)
	}
	fjord.BytesToday = &v1alpha1.BytesToday{Up: 7}
	see("fjord", fjord)
	select {
	case <-changed:
		t.Error("what is not about trouble is news")
	default:
	}
	see("fjord", v1alpha1.SyncTargetStatus{})
	told(1, "oslo CenterTrusted")
	see("oslo", v1alpha1.SyncTargetStatus{})
	told(0)
}
