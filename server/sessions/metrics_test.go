package sessions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"skerry.dev/skerry/server/placement"
)

// What is wrong with targets is counted; those that stand well are not named, and of many that
// stand badly the worst alone.
func TestHealthMetrics(t *testing.T) {
	api := newFakeAPI()
	const n = 3 * maxSeries
	registry := prometheus.NewRegistry()
	server := New((&stub{count: func() int { return 10 }}).in(Config{Metrics: registry}))
	for i := range n {
		name := fmt.Sprintf("site-%03d", i)
		api.change(targetsPath+"/"+name, map[string]any{"metadata": map[string]any{"name": name, "uid": name},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "StoreHealthy", "status": "False"}}}})
	}
	api.follow(server)
	for i := range n {
		name := fmt.Sprintf("site-%03d", i)
		server.sessions[name] = &session{target: name, conn: standingConn{target: name}, heard: time.Now()}
		server.progress.of[name] = &progress{tally: placement.Tally{Applied: 10 - i%2, Refused: i % 2}}
	}
	server.sessions["site-001"].heard = time.Now().Add(-time.Hour)
	server.progress.of["site-003"] = &progress{tally: placement.Tally{Applied: 2, Refused: 5}}
	server.assess(time.Now())
	if err := testutil.GatherAndCompare(registry, strings.NewReader(fmt.Sprintf(`
# HELP skerry_refused_objects Objects that targets refuse; one counts for each target that does.
# TYPE skerry_refused_objects gauge
skerry_refused_objects %d
# HELP skerry_target_unapplied_objects Objects that a target does not have as desired and does not refuse; the targets with most alone.
# TYPE skerry_target_unapplied_objects gauge
skerry_target_unapplied_objects{target="site-003"} 3
# HELP skerry_targets SyncTargets, by whether their reports are current: reachable, or why not.
# TYPE skerry_targets gauge
skerry_targets{state="SiteSilent"} 1
skerry_targets{state="reachable"} %d
# HELP skerry_targets_condition_false SyncTargets of which a condition is False, by its type.
# TYPE skerry_targets_condition_false gauge
skerry_targets_condition_false{condition="StoreHealthy"} %[3]d
`, n/2+4, n-1, n)), "skerry_refused_objects", "skerry_target_unapplied_objects", "skerry_targets", "skerry_targets_condition_false"); err != nil {
		t.Error(err)
	}
	if named, err := testutil.GatherAndCount(registry, "skerry_target_refused_objects"); err != nil ||
		named != maxSeries {
		t.Errorf("%d targets are named, %v, want the worst %d", named, err, maxSeries)
	}
	if named, err := testutil.GatherAndCount(registry, "skerry_target_unreachable_seconds"); err != nil || named != 1 {
		t.Errorf("%d targets are not reachable, %v", named, err)
	}
}
