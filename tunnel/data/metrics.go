package data

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

var (
	descOpen = prometheus.NewDesc("skerry_data_connections",
		"Data connections that are open.", nil, nil)
	descAll = prometheus.NewDesc("skerry_data_connections_opened_total",
		"Data connections that were opened.", nil, nil)
	descEnds = prometheus.NewDesc("skerry_data_connections_ended_total",
		"Data connections that have ended, by reason.", []string{"reason"}, nil)
	descStreams = prometheus.NewDesc("skerry_data_streams",
		"Streams that are open on data connections.", nil, nil)
	descRefused = prometheus.NewDesc("skerry_data_connections_refused_total",
		"Data connections that were refused, because this side had not asked for them.", nil, nil)
	descFailed = prometheus.NewDesc("skerry_data_requests_failed_total",
		"Requests for a data connection that the child did not fulfil.", nil, nil)
)

// Metrics counts the data connections of one side. It implements prometheus.Collector. A nil
// Metrics counts nothing. Its methods may be called concurrently.
type Metrics struct {
	mu      sync.Mutex
	conns   map[*mux.Conn]struct{}
	all     uint64
	refused uint64
	failed  uint64
	ends    map[string]uint64
}

// NewMetrics returns counts of nothing.
func NewMetrics() *Metrics {
	return &Metrics{conns: map[*mux.Conn]struct{}{}, ends: map[string]uint64{}}
}

func (m *Metrics) opened(c *mux.Conn) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns[c] = struct{}{}
	m.all++
}

func (m *Metrics) ended(c *mux.Conn) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
	m.ends[endOf(c.Err())]++
}

func (m *Metrics) refuse() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused++
}

func (m *Metrics) fail() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
}

// endOf is the word of few for why a data connection has ended.
func endOf(err error) string {
	var timeout interface{ Timeout() bool }
	var refused *tunnel.Refused
	switch {
	case errors.Is(err, tunnel.ErrUnused):
		return "unused"
	case errors.Is(err, tunnel.ErrDraining), errors.Is(err, context.Canceled):
		return "draining"
	case errors.Is(err, tunnel.ErrReplaced):
		return "replaced"
	case errors.Is(err, tunnel.ErrRemoved):
		return "removed"
	case errors.Is(err, tunnel.ErrRefused), errors.As(err, &refused):
		return "refused"
	case errors.Is(err, tunnel.ErrProtocol):
		return "protocol"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "silent"
	default:
		return "broken"
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	all := []*prometheus.Desc{descOpen, descAll, descEnds, descStreams, descRefused, descFailed}
	for _, d := range all {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	conns, ends := maps.Clone(m.conns), maps.Clone(m.ends)
	all, refused, failed := m.all, m.refused, m.failed
	m.mu.Unlock()
	streams := 0
	for c := range conns {
		streams += c.Streams()
	}
	show := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	show(descOpen, prometheus.GaugeValue, float64(len(conns)))
	show(descStreams, prometheus.GaugeValue, float64(streams))
	show(descAll, prometheus.CounterValue, float64(all))
	show(descRefused, prometheus.CounterValue, float64(refused))
	show(descFailed, prometheus.CounterValue, float64(failed))
	for reason, n := range ends {
		show(descEnds, prometheus.CounterValue, float64(n), reason)
	}
}
