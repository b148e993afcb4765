package gateway

import (
	"io"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/tunnel/upward"
)

// Metrics are the figures of a gateway. Register them once.
type Metrics struct {
	requests, refused, bytes *prometheus.CounterVec
	watches                  prometheus.Gauge
}

// NewMetrics returns figures that are all zero.
func NewMetrics() *Metrics {
	return &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skerry_gateway_requests_total",
			Help: "Requests of pods that were passed on to the API of their space, by the code of the answer.",
		}, []string{"code"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skerry_gateway_refused_total",
			Help: "Requests that the gateway answered itself, by reason: starting, token, connections or requests."},
			[]string{"reason"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skerry_gateway_bytes_total",
			Help: "Bytes of bodies, by direction: up from pods, down to them. Upgraded connections are not in it."},
			[]string{"direction"}),
		watches: prometheus.NewGauge(prometheus.GaugeOpts{Name: "skerry_gateway_watches",
			Help: "Watches that pods have open."}),
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.refused, m.bytes, m.watches}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(out)
	}
}

// The reasons of requests that the gateway refuses itself.
const (
	refusedStarting    = "starting"
	refusedToken       = "token"
	refusedConnections = "connections"
	refusedRequests    = "requests"
)

func (m *Metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }

// pass counts a request that is passed on, and returns what counts its end. The code is known then.
func (m *Metrics) pass(w *status, r *http.Request) (end func()) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &countedBody{r.Body, m.bytes.WithLabelValues("up")}
	}
	w.down = m.bytes.WithLabelValues("down")
	watch := upward.IsWatch(r)
	if watch {
		m.watches.Inc()
	}
	return func() {
		if watch {
			m.watches.Dec()
		}
		m.requests.WithLabelValues(strconv.Itoa(w.code)).Inc()
	}
}

type countedBody struct {
	io.ReadCloser
	n prometheus.Counter
}

// Read implements io.Reader.
func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(float64(n))
	return n, err
}

// status is an answer whose code and length are noted.
type status struct {
	http.ResponseWriter
	code int
	down prometheus.Counter
}

// WriteHeader implements http.ResponseWriter. Of several codes the last one counts.
func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (s *status) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.down.Add(float64(n))
	return n, err
}

// Unwrap lets an upgrade take the connection over.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
