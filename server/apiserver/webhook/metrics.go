package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the calls of webhooks by Service. It is a prometheus.Collector.
type Metrics struct {
	took     *prometheus.HistogramVec
	failures *prometheus.CounterVec
	objects  *prometheus.CounterVec
}

// NewMetrics returns Metrics without calls.
func NewMetrics() *Metrics {
	return &Metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "skerry_webhook_call_seconds",
			Help:    "Time until a webhook by Service answered, by the SyncTarget that leads to it.",
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

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.took.Collect(to)
	m.failures.Collect(to)
	m.objects.Collect(to)
}

func (m *Metrics) called(target string, took time.Duration) {
	if m != nil {
		m.took.WithLabelValues(target).Observe(took.Seconds())
	}
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
