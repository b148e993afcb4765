package traffic

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// descriptions are what a Meter tells Prometheus.
type descriptions struct{ bytes, frames, batches, sessions, ended, failed *prometheus.Desc }

func describe() descriptions {
	return descriptions{
		bytes: prometheus.NewDesc(
			"skerry_link_bytes_total",
			"Bytes on the link by direction and purpose: payload of UDP datagrams.",
			[]string{"direction", "purpose"},
			nil,
		),
		frames: prometheus.NewDesc(
			"skerry_link_frames_total",
			"Frames by direction and purpose; a batch counts for its most urgent entry.",
			[]string{"direction", "purpose"},
			nil,
		),
		batches:  prometheus.NewDesc("skerry_link_batches_total", "Batches of entries.", []string{"direction"}, nil),
		sessions: prometheus.NewDesc("skerry_link_sessions", "Sessions that are open.", nil, nil),
		ended: prometheus.NewDesc(
			"skerry_link_sessions_ended_total",
			"Sessions that have ended, by reason.",
			[]string{"reason"},
			nil,
		),
		failed: prometheus.NewDesc(
			"skerry_link_dials_failed_total",
			"Dials of the parent that made no connection.",
			nil,
			nil,
		),
	}
}

// Describe implements prometheus.Collector.
func (m *Meter) Describe(out chan<- *prometheus.Desc) {
	d := describe()
	for _, desc := range []*prometheus.Desc{d.bytes, d.frames, d.batches, d.sessions, d.ended, d.failed} {
		out <- desc
	}
	m.waited.Describe(out)
}

// Collectors implements metrics.Composite.
func (m *Meter) Collectors() []prometheus.Collector { return []prometheus.Collector{m.waited} }

// Collect implements prometheus.Collector.
func (m *Meter) Collect(out chan<- prometheus.Metric) {
	desc := describe()
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for d := range directions {
		counter(desc.batches, m.batches[d].Load(), d.String())
		for p := range purposes {
			counter(desc.bytes, m.Bytes(d, p), d.String(), p.String())
			if p != Transport {
				counter(desc.frames, m.counts[d][p].frames.Load(), d.String(), p.String())
			}
		}
	}
	counter(desc.failed, m.failed.Load())
	m.mu.Lock()
	open, ends := len(m.links), maps.Clone(m.ends)
	m.mu.Unlock()
	out <- prometheus.MustNewConstMetric(desc.sessions, prometheus.GaugeValue, float64(open))
	for reason, n := range ends {
		counter(desc.ended, n, reason)
	}
	m.waited.Collect(out)
}
