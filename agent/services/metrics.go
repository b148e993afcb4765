package services

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the figures of the names that lead to other sites. Register them once.
type Metrics struct {
	open    prometheus.Gauge
	waiting prometheus.Gauge
	total   prometheus.Counter
	refused *prometheus.CounterVec
}

// NewMetrics returns figures that are all zero.
func NewMetrics() *Metrics {
	return &Metrics{
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "skerry_services_connections",
			Help: "Connections of pods of this site to Services that answer at other sites."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "skerry_services_waiting",
			Help: "Connections of pods of this site that wait for what answers, which is on its way to another site."}),
		total: prometheus.NewCounter(prometheus.CounterOpts{Name: "skerry_services_connections_total",
			Help: "Connections of pods of this site that another site has answered."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skerry_services_refused_total",
			Help: "Connections to Services of other sites that were reset, by reason: caller (no pod of the space), unknown " +
				"(the cluster did not say who calls), nowhere (no site answers), policy (NetworkPolicies " +
				"of the Service's site) or limit."}, []string{"reason"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	m.open.Describe(out)
	m.waiting.Describe(out)
	m.total.Describe(out)
	m.refused.Describe(out)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.open.Collect(out)
	m.waiting.Collect(out)
	m.total.Collect(out)
	m.refused.Collect(out)
}

// The reasons of connections that are reset.
const (
	refusedCaller  = "caller"
	refusedUnknown = "unknown"
	refusedNowhere = "nowhere"
	refusedPolicy  = "policy"
	refusedLimit   = "limit"
)

func (m *Metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }

// connected counts a connection, and returns what counts its end.
func (m *Metrics) connected() (ended func()) {
	m.total.Inc()
	m.open.Inc()
	return m.open.Dec
}

// waits counts a caller that waits, and returns what counts its end.
func (m *Metrics) waits() (ended func()) {
	m.waiting.Inc()
	return m.waiting.Dec
}
