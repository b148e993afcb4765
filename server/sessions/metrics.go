package sessions

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxSeries is how many targets a metric names at most: those that stand worst. Of the others only
// the sums speak. A target that stands well is not named.
const maxSeries = 100

// healthMetrics tell how the direct children of this center stand.
type healthMetrics struct{ sessions *Server }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	descTargets = desc(
		"skerry_targets",
		"SyncTargets, by whether their reports are current: reachable, or why not.",
		"state",
	)
	descCondition = desc(
		"skerry_targets_condition_false",
		"SyncTargets of which a condition is False, by its type.",
		"condition",
	)
	descRefusedAll = desc(
		"skerry_refused_objects",
		"Objects that targets refuse; one counts for each target that does.",
	)
	descLackingAll = desc(
		"skerry_unapplied_objects",
		"Objects that are placed on connected targets and of which these do not say yet that they have them as desired, "+
			"or refuse them.",
	)
	descUnreachable = desc(
		"skerry_target_unreachable_seconds",
		"How long the reports of a target have been old; the longest alone.",
		"target",
	)
	descRefused = desc(
		"skerry_target_refused_objects",
		"Objects that a target refuses; the targets with most alone.",
		"target",
	)
	descLacking = desc(
		"skerry_target_unapplied_objects",
		"Objects that a target does not have as desired and does not refuse; the targets with most alone.",
		"target",
	)
	descHeld = desc(
		"skerry_target_held_deletions",
		"Deletions that a target withholds until an admin accepts them; the targets with most alone.",
		"target",
	)
)

// Describe implements prometheus.Collector.
func (h healthMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descTargets,
		descCondition,
		descRefusedAll,
		descLackingAll,
		descUnreachable,
		descRefused,
		descLacking,
		descHeld,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (h healthMetrics) Collect(out chan<- prometheus.Metric) {
	is := h.sessions.health(time.Now())
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for state, n := range is.states {
		gauge(descTargets, float64(n), state)
	}
	for kind, n := range is.failing {
		gauge(descCondition, float64(n), kind)
	}
	gauge(descRefusedAll, sum(is.refused))
	gauge(descLackingAll, sum(is.lacking))
	for d, of := range map[*prometheus.Desc]map[string]float64{
		descUnreachable: is.away,
		descRefused:     is.refused,
		descLacking:     is.lacking,
		descHeld:        is.held,
	} {
		for _, name := range worst(of) {
			gauge(d, of[name], name)
		}
	}
}

// health is how all targets stand: counts, and values by the names of those of which they are not
// 0.
type health struct {
	states, failing              map[string]int
	away, refused, lacking, held map[string]float64
}

func (d *Server) health(now time.Time) health {
	h := health{
		states:  map[string]int{"reachable": 0},
		failing: map[string]int{},
		away:    map[string]float64{},
		refused: map[string]float64{},
		lacking: map[string]float64{},
		held:    map[string]float64{},
	}
	for _, name := range d.targets.names() {
		t, ok := d.targets.get(name)
		if !ok {
			continue
		}
		state := "reachable"
		if o, out := d.Outage(name); out {
			state, h.away[name] = o.Reason, max(0, now.Sub(o.Since).Seconds())
		}
		h.states[state]++
		for _, c := range t.object.Status.Conditions {
			if c.Status == metav1.ConditionFalse {
				h.failing[c.Type]++
			}
		}
		if held := t.object.Status.Held; held != nil {
			h.held[name] = float64(held.Deletions)
		}
		if p := d.progress.get(name); p != nil && d.session(name) != nil {
			put(h.refused, name, p.tally.Refused)
			put(h.lacking, name, d.cfg.Delivery.Count(name)-p.tally.Applied-p.tally.Refused)
		}
	}
	return h
}

func put(to map[string]float64, name string, n int) {
	if n > 0 {
		to[name] = float64(n)
	}
}

func sum(of map[string]float64) (all float64) {
	for _, v := range of {
		all += v
	}
	return all
}

// worst names the targets with the highest values.
func worst(of map[string]float64) []string {
	names := slices.SortedFunc(
		maps.Keys(of),
		func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) },
	)
	return names[:min(len(names), maxSeries)]
}
