package sessions

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxTargets is how many targets the metrics skerry_target_* name: the first by name, so that the
	// series stay the same.
	maxTargets = 1000
	// maxWorst is how many of the others a metric that tells trouble names: those with the highest
	// values.
	maxWorst = 100
)

// targetMetric is a metric of each target.
type targetMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	// trouble is true where 0 means that all is well.
	trouble bool
	// of returns the value; false where there is none.
	of func(*figures) (float64, bool)
}

func targetGauge(name, help string, of func(*figures) (float64, bool)) targetMetric {
	return targetMetric{desc: desc("skerry_target_"+name, help, "target"), kind: prometheus.GaugeValue, of: of}
}

func targetTrouble(name, help string, of func(*figures) (float64, bool)) targetMetric {
	m := targetGauge(name, help, of)
	m.trouble = true
	return m
}

var targetMetrics = []targetMetric{
	targetGauge("connected", "1 while the target's agent has a session, else 0.",
		func(f *figures) (float64, bool) { return number(f.session != nil), true }),
	targetGauge("last_heard_timestamp_seconds", "When the target's agent was last heard, as Unix time.",
		func(f *figures) (float64, bool) { return unix(f.heard), !f.heard.IsZero() }),
	targetTrouble("unreachable_seconds", "How long the reports of a target have been old; 0 while they are current.",
		func(f *figures) (float64, bool) { return f.away.Seconds(), true }),
	targetTrouble("lag_seconds", "How long a connected target has lacked something that is placed on it.",
		func(f *figures) (float64, bool) { return f.lag.Seconds(), f.session != nil }),
	targetGauge("objects", "Objects that are placed on the target.",
		func(f *figures) (float64, bool) { return float64(f.objects), true }),
	targetTrouble("refused_objects", "Objects that a connected target refuses.",
		func(f *figures) (float64, bool) { return f.refused, f.session != nil }),
	targetTrouble("unapplied_objects",
		"Objects that a connected target does not have as desired and does not refuse.",
		func(f *figures) (float64, bool) { return f.lacking, f.session != nil }),
	targetTrouble("held", "1 while the target withholds something until an admin accepts it, else 0.",
		func(f *figures) (float64, bool) { return number(f.known.object.Status.Held != nil), true }),
	targetTrouble("held_deletions", "Deletions that the target withholds until an admin accepts them.",
		func(f *figures) (float64, bool) { return f.deletions(), true }),
	targetGauge("budget_bytes", "What may cross the target's link in a UTC day; only where there is a budget.",
		func(f *figures) (float64, bool) { return float64(f.known.link.perDay), f.known.link.perDay > 0 }),
	targetGauge("budget_used_bytes", "What has crossed since 00:00 UTC and counts against the budget.",
		func(f *figures) (float64, bool) { return float64(f.budgeted), f.known.link.perDay > 0 }),
	targetTrouble("budget_spent", "1 while the daily budget of the link is used up and reports wait, else 0.",
		func(f *figures) (float64, bool) { return number(f.spent), f.known.link.perDay > 0 }),
	targetGauge("certificate_expiry_timestamp_seconds",
		"When the certificate of the target's agent ends, as Unix time.",
		func(f *figures) (float64, bool) {
			if f.known.object.Status.Identity == nil {
				return 0, false
			}
			return unix(f.known.object.Status.Identity.CertificateUntil.Time), true
		}),
}

var descBytes = desc("skerry_target_bytes_total",
	"Payload that has crossed the target's link since the center started, by direction: down to the target, or up; "+
		"at most a minute late.", "target", "direction")

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// figures are what the metrics tell of one target.
type figures struct {
	name     string
	known    target
	session  *session // nil while it has none
	state    string   // of skerry_targets
	heard    time.Time
	away     time.Duration
	lag      time.Duration
	objects  int
	refused  float64
	lacking  float64
	budgeted int64
	spent    bool
	crossed  transferred
}

func (f *figures) deletions() float64 {
	if held := f.known.object.Status.Held; held != nil {
		return float64(held.Deletions)
	}
	return 0
}

// figures returns those of all targets, by name.
func (srv *Server) figures(now time.Time) []figures {
	names := srv.targets.names()
	slices.Sort(names)
	out := make([]figures, 0, len(names))
	for _, name := range names {
		if known, ok := srv.targets.get(name); ok {
			out = append(out, srv.figuresOf(name, known, now))
		}
	}
	return out
}

func (srv *Server) figuresOf(name string, known target, now time.Time) figures {
	f := figures{name: name, known: known, session: srv.session(name), state: stateReachable,
		objects: srv.cfg.Delivery.Count(name), crossed: srv.usage.ever(name)}
	if o, out := srv.cfg.Outages.Outage(name); out {
		f.state, f.away = o.Reason, max(0, now.Sub(o.Since))
	}
	if seen := known.object.Status.LastSeen; seen != nil {
		f.heard = seen.Time
	}
	if known.link.perDay > 0 {
		f.budgeted = srv.usage.add(name, known, now, crossing{}, true).Budgeted
		f.spent = known.link.use(now, f.budgeted).Hold
	}
	if f.session == nil {
		if heard, left := srv.disconnected(name); left {
			f.heard = heard
		}
		return f
	}
	f.heard, f.lag = f.session.lastHeard(), f.session.lag(now)
	if p := srv.progress.get(name); p != nil {
		f.refused = float64(p.tally.Refused)
		f.lacking = float64(max(0, f.objects-p.tally.Applied-p.tally.Refused))
	}
	return f
}

func describeTargets(out chan<- *prometheus.Desc) {
	for _, m := range targetMetrics {
		out <- m.desc
	}
	out <- descBytes
}

// collectTargets sends the metrics of targets, which are sorted by name.
func collectTargets(out chan<- prometheus.Metric, all []figures) {
	named := all[:min(len(all), maxTargets)]
	for _, m := range targetMetrics {
		for i := range named {
			if v, ok := m.of(&named[i]); ok {
				out <- prometheus.MustNewConstMetric(m.desc, m.kind, v, named[i].name)
			}
		}
		if m.trouble {
			m.collectWorst(out, all[len(named):])
		}
	}
	for i := range named {
		for direction, n := range map[string]int64{"down": named[i].crossed.down, "up": named[i].crossed.up} {
			out <- prometheus.MustNewConstMetric(descBytes, prometheus.CounterValue, float64(n), named[i].name, direction)
		}
	}
}

// collectWorst sends a metric of the targets that stand worst.
func (m targetMetric) collectWorst(out chan<- prometheus.Metric, all []figures) {
	type standing struct {
		name  string
		value float64
	}
	var list []standing
	for i := range all {
		if v, ok := m.of(&all[i]); ok && v > 0 {
			list = append(list, standing{all[i].name, v})
		}
	}
	slices.SortFunc(list, func(a, b standing) int {
		return cmp.Or(cmp.Compare(b.value, a.value), strings.Compare(a.name, b.name))
	})
	for _, s := range list[:min(len(list), maxWorst)] {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, s.value, s.name)
	}
}
