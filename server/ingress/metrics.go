package ingress

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the figures of the center's entry. Register them once. A space has figures while it has an Ingress of the
// class, mostSpaces of them at most. Requests to others, and to no host that is served, have the space "".
type Metrics struct {
	requests *prometheus.CounterVec
	open     prometheus.Gauge
	refused  *prometheus.CounterVec
	time     prometheus.Histogram

	mu     sync.Mutex
	spaces map[string]bool
}

// NewMetrics returns figures that are all zero.
func NewMetrics() *Metrics {
	return &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skerry_ingress_requests_total",
			Help: "Requests from outside to Ingresses of the class skerry, by space and class of the answer's code (2xx to " +
				"5xx). The space is empty where no Ingress has the host, and for those beyond 200."}, []string{"space", "code"}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "skerry_ingress_connections",
			Help: "Connections of callers from outside that are open at --ingress-listen."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skerry_ingress_refused_total",
			Help: "Connections and requests from outside that were refused for a limit: of all (total), of one address " +
				"(source), or of one space (space); or because a load balancer did not say who calls (balancer)."},
			[]string{"limit"}),
		time: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "skerry_ingress_request_duration_seconds",
			Help:    "How long requests from outside took, from their head to the end of their answer; upgraded ones not.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}),
		spaces: map[string]bool{},
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.open, m.refused, m.time}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, of := range m.all() {
		of.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, of := range m.all() {
		of.Collect(out)
	}
}

// mostSpaces is how many spaces have figures of their own.
const mostSpaces = 200

// answered counts a request. It took 0 where that says nothing.
func (m *Metrics) answered(space string, code int, took time.Duration) {
	m.mu.Lock()
	if !m.spaces[space] {
		space = ""
	}
	m.mu.Unlock()
	m.requests.WithLabelValues(space, strconv.Itoa(code/100)+"xx").Inc()
	if took > 0 {
		m.time.Observe(took.Seconds())
	}
}

// keep forgets spaces that have none of the Ingresses.
func (m *Metrics) keep(all []*Ingress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	has, now := map[string]bool{}, map[string]bool{}
	for _, in := range all {
		if has[in.Key.Space] = true; m.spaces[in.Key.Space] {
			now[in.Key.Space] = true // who has figures keeps them
		}
	}
	for _, space := range slices.Sorted(maps.Keys(has)) {
		if len(now) < mostSpaces {
			now[space] = true
		}
	}
	for space := range m.spaces {
		if !now[space] {
			m.requests.DeletePartialMatch(prometheus.Labels{"space": space})
		}
	}
	m.spaces = now
}
