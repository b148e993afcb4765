package sessions

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/placement"
)

// healthMetrics tell how the direct children of this center stand, all together and one by one.
type healthMetrics struct{ sessions *Server }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	descTargets = desc("skerry_targets",
		"SyncTargets, by whether their reports are current: reachable, or why not.", "state")
	descCondition = desc("skerry_targets_condition_false",
		"SyncTargets of which a condition is False, by its type.", "condition")
	descLeftOut = desc("skerry_targets_left_out",
		"SyncTargets beyond the 1,000 that the metrics skerry_target_* name.")
	descRefusedAll = desc("skerry_refused_objects",
		"Objects that targets refuse; one counts for each target that does.")
	descLackingAll = desc("skerry_unapplied_objects",
		"Objects that are placed on connected targets and of which these do not say yet that they have them as desired, "+
			"or refuse them.")
	descHeldAll = desc("skerry_held_deletions",
		"Deletions that targets withhold until an admin accepts them.")
)

// states are those of skerry_targets.
var states = []string{stateReachable, placement.OutageSilent, placement.OutageCluster, placement.OutageBelow,
	placement.OutageNoSites}

const stateReachable = "reachable"

// Describe implements prometheus.Collector.
func (h healthMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descTargets, descCondition, descLeftOut, descRefusedAll, descLackingAll,
		descHeldAll} {
		out <- d
	}
	describeTargets(out)
}

// Collect implements prometheus.Collector.
func (h healthMetrics) Collect(out chan<- prometheus.Metric) {
	now := time.Now()
	sites := h.sessions.figures(now)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count, failing := map[string]int{}, map[string]int{}
	var refused, lacking, held float64
	for i := range sites {
		s := &sites[i]
		count[s.state]++
		for _, c := range s.known.object.Status.Conditions {
			if c.Status == metav1.ConditionFalse {
				failing[c.Type]++
			}
		}
		refused, lacking, held = refused+s.refused, lacking+s.lacking, held+s.deletions()
	}
	for _, state := range states {
		gauge(descTargets, float64(count[state]), state)
	}
	for kind, n := range failing {
		gauge(descCondition, float64(n), kind)
	}
	gauge(descRefusedAll, refused)
	gauge(descLackingAll, lacking)
	gauge(descHeldAll, held)
	gauge(descLeftOut, float64(max(0, len(sites)-maxTargets)))
	collectTargets(out, sites)
}
