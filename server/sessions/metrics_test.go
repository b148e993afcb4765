package sessions

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Targets are counted, and the first 1,000 by name have metrics of their own. Of the others those
// that stand worst have metrics that tell trouble.
func TestHealthMetrics(t *testing.T) {
	api := newFakeAPI()
	const n = maxTargets + 4*maxWorst
	registry := prometheus.NewRegistry()
	server := New((&stub{count: func() int { return 10 }}).in(Config{Metrics: registry}))
	site := func(i int) string { return fmt.Sprintf("site-%04d", i) }
	for i := range n {
		api.change(targetsPath+"/"+site(i), map[string]any{"metadata": map[string]any{"name": site(i), "uid": site(i)},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "StoreHealthy", "status": "False"}}}})
	}
	api.follow(server)
	for i := range n {
		server.sessions[site(i)] = &session{target: site(i), conn: standingConn{target: site(i)}, heard: time.Now()}
		server.progress.of[site(i)] = &progress{tally: placement.Tally{Applied: 10 - i%2, Refused: i % 2}}
	}
	server.sessions[site(1)].heard = time.Now().Add(-time.Hour)
	server.progress.of[site(n-1)] = &progress{tally: placement.Tally{Applied: 2, Refused: 5}}
	server.assess(time.Now())
	if err := testutil.GatherAndCompare(registry, strings.NewReader(fmt.Sprintf(`
# HELP skerry_refused_objects Objects that targets refuse; one counts for each target that does.
# TYPE skerry_refused_objects gauge
skerry_refused_objects %d
# HELP skerry_targets SyncTargets, by whether their reports are current: reachable, or why not.
# TYPE skerry_targets gauge
skerry_targets{state="ClusterNotReachable"} 0
skerry_targets{state="RelayWithoutSites"} 0
skerry_targets{state="SiteSilent"} 1
skerry_targets{state="SitesBelowSilent"} 0
skerry_targets{state="reachable"} %d
# HELP skerry_targets_condition_false SyncTargets of which a condition is False, by its type.
# TYPE skerry_targets_condition_false gauge
skerry_targets_condition_false{condition="StoreHealthy"} %[3]d
# HELP skerry_targets_left_out SyncTargets beyond the 1,000 that the metrics skerry_target_* name.
# TYPE skerry_targets_left_out gauge
skerry_targets_left_out %d
`, n/2+4, n-1, n, n-maxTargets)), "skerry_refused_objects", "skerry_targets", "skerry_targets_condition_false",
		"skerry_targets_left_out"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]int{
		"skerry_target_objects":             maxTargets,
		"skerry_target_connected":           maxTargets,
		"skerry_target_bytes_total":         2 * maxTargets,
		"skerry_target_unreachable_seconds": maxTargets,
		"skerry_target_refused_objects":     maxTargets + maxWorst, // twice as many refuse
		"skerry_target_unapplied_objects":   maxTargets + 1,
		"skerry_target_budget_bytes":        0,
	} {
		if got, err := testutil.GatherAndCount(registry, name); err != nil || got != want {
			t.Errorf("%d series of %s, %v, want %d", got, name, err, want)
		}
	}
}

// What a target says of itself is in its metrics.
func TestTargetMetrics(t *testing.T) {
	api := newFakeAPI()
	registry := prometheus.NewRegistry()
	server := New((&stub{count: func() int { return 10 }}).in(Config{Metrics: registry}))
	api.change(targetsPath+"/paris", map[string]any{"metadata": map[string]any{"name": "paris", "uid": "u"},
		"spec": map[string]any{"link": map[string]any{"bytesPerDay": "1Mi"}},
		"status": map[string]any{"held": map[string]any{"reason": "DeletionsHeld", "deletions": 7},
			"lastSeen": "2026-01-02T03:04:05Z",
			"identity": map[string]any{"certificateUntil": "2026-02-03T04:05:06Z", "authority": "a", "bundle": "b"}}})
	api.follow(server)
	known, _ := server.targets.get("paris")
	server.usage.add("paris", known, time.Now(), crossing{down: 1 << 20, up: 5}, false)
	server.usage.add("paris", known, time.Now(), crossing{down: 3, up: 2}, true)
	expect := func(text string) {
		t.Helper()
		var names []string
		for _, line := range strings.Split(text, "\n") {
			if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
				names = append(names, strings.Fields(name)[0])
			}
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), names...); err != nil {
			t.Error(err)
		}
	}
	expect(`
# HELP skerry_target_budget_bytes What may cross the target's link in a UTC day; only where there is a budget.
# TYPE skerry_target_budget_bytes gauge
skerry_target_budget_bytes{target="paris"} 1.048576e+06
# HELP skerry_target_budget_spent 1 while the daily budget of the link is used up and reports wait, else 0.
# TYPE skerry_target_budget_spent gauge
skerry_target_budget_spent{target="paris"} 1
# HELP skerry_target_budget_used_bytes What has crossed since 00:00 UTC and counts against the budget.
# TYPE skerry_target_budget_used_bytes gauge
skerry_target_budget_used_bytes{target="paris"} 1.048581e+06
# HELP skerry_target_bytes_total Payload that has crossed the target's link since the center started, by direction: down to the target, or up; at most a minute late.
# TYPE skerry_target_bytes_total counter
skerry_target_bytes_total{direction="down",target="paris"} 1.048579e+06
skerry_target_bytes_total{direction="up",target="paris"} 7
# HELP skerry_target_certificate_expiry_timestamp_seconds When the certificate of the target's agent ends, as Unix time.
# TYPE skerry_target_certificate_expiry_timestamp_seconds gauge
skerry_target_certificate_expiry_timestamp_seconds{target="paris"} 1.770091506e+09
# HELP skerry_target_connected 1 while the target's agent has a session, else 0.
# TYPE skerry_target_connected gauge
skerry_target_connected{target="paris"} 0
# HELP skerry_target_held 1 while the target withholds something until an admin accepts it, else 0.
# TYPE skerry_target_held gauge
skerry_target_held{target="paris"} 1
# HELP skerry_target_held_deletions Deletions that the target withholds until an admin accepts them.
# TYPE skerry_target_held_deletions gauge
skerry_target_held_deletions{target="paris"} 7
# HELP skerry_target_last_heard_timestamp_seconds When the target's agent was last heard, as Unix time.
# TYPE skerry_target_last_heard_timestamp_seconds gauge
skerry_target_last_heard_timestamp_seconds{target="paris"} 1.767323045e+09
`)
}

// A target that is always a little behind has a short lag; one that is stuck has a long one.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := store.NewFeed(store.NewIncarnation(), 0, nil)
		s := &session{feed: feed}
		glance := func(acked int64) time.Duration {
			time.Sleep(time.Second)
			s.head = s.head + 10
			s.acked = store.Position{Incarnation: feed.Head().Incarnation, Revision: acked}
			s.trackLag(siteState{acked: acked, done: acked >= s.head}, time.Now())
			return s.lag(time.Now())
		}
		for i := range int64(60) {
			if lag := glance(10 * i); lag > 2*time.Second {
				t.Fatalf("a glance behind, and the lag is %v", lag)
			}
		}
		stuck := s.acked.Revision
		var lag time.Duration
		for range 60 {
			lag = glance(stuck)
		}
		if lag < 58*time.Second || lag > 61*time.Second {
			t.Errorf("stuck for 60 s, and the lag is %v", lag)
		}
		s.acked.Revision = s.head
		if lag := s.lag(time.Now()); lag != 0 {
			t.Errorf("all is acknowledged, and the lag is %v", lag)
		}
	})
}
