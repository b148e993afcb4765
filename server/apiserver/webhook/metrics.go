package webhook

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the calls of webhooks by Service. It is a prometheus.Collector.
type Metrics struct {
	took     *prometheus.HistogramVec
	failures *prometheus.CounterVec
	objects  *prometheus.CounterVec

	mu    sync.Mutex
	named map[string]bool // targets of took
}

// maxNamed bounds the targets that took names; of the others it tells all together.
const maxNamed = 100

// NewMetrics returns Metrics without calls.
func NewMetrics() *Metrics {
	return &Metrics{
		named: map[string]bool{},
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "skerry_webhook_call_seconds",
			Help: "Time until a webhook by Service answered, by the SyncTarget that leads to it, 100 at most: " +
				"of all others together the label is empty.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"target"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "skerry_webhook_failures_total",
			Help: "Calls of webhooks by Service without an answer, by reason: away, or other.",
		}, []string{"reason"}),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "skerry_webhook_conversions_total",
			Help: "Objects that a webhook by Service converts, by source: call, or kept from before.",
		}, []string{"source"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.took.Describe(to)
	m.failures.Describe(to)
	m.objects.Describe(to)
}

// Collectors implements metrics.Composite.
func (m *Metrics) Collectors() []prometheus.Collector { return []prometheus.Collector{m.took} }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.took.Collect(to)
	m.failures.Collect(to)
	m.objects.Collect(to)
}

func (m *Metrics) called(target string, took time.Duration) {
	if m != nil {
		m.took.WithLabelValues(m.name(target)).Observe(took.Seconds())
	}
}

// name is the label of a target; empty when too many others have one.
func (m *Metrics) name(target string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.named[target] && len(m.named) == maxNamed {
		return ""
	}
	m.named[target] = true
	return target
}

func (m *Metrics) converted(kept, called int) {
	if m != nil {
		m.objects.WithLabelValues("kept").Add(float64(kept))
		m.objects.WithLabelValues("call").Add(float64(called))
	}
}

func (m *Metrics) failed(why error) {
	if m == nil {
		return
	}
	reason := "other"
	if isAway(why) {
		reason = "away"
	}
	m.failures.WithLabelValues(reason).Inc()
}
