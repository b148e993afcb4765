package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	tunneldata "skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/traffic"
)

// figures are the metrics of an agent.
type figures struct {
	meter *traffic.Meter
	data  *tunneldata.Metrics
	apply *prometheus.HistogramVec
	beats prometheus.Histogram

	part prometheus.Registerer
	all  []prometheus.Collector
}

// newFigures registers the figures of the agent, or of the half of a relay that is one.
func newFigures(a *agent) *figures {
	f := &figures{
		meter: traffic.New(),
		data:  tunneldata.NewMetrics(),
		apply: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "skerry_apply_seconds",
			Help:    "One try to bring an object of the target to its desired state, by result: done or failed.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"result"}),
		beats: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "skerry_link_heartbeat_seconds",
			Help:    "Round trip of a heartbeat of the session with the parent, which is asked for when the link is silent.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
	}
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value()) },
		)
	}
	name := "agent"
	if a.Config.Relay {
		name = "uplink"
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(value()) },
		)
	}
	reported := a.observer.Feed()
	f.part = a.Metrics.Part(name)
	f.all = []prometheus.Collector{f.meter, f.data, f.apply, f.beats,
		counter(
			"skerry_store_fsyncs_total",
			"Times that the disk was told to make the store's file durable.",
			func() int64 { return a.file.Cost().Syncs },
		),
		counter(
			"skerry_store_bytes_written_total",
			"Bytes written to the store's file, in whole pages.",
			func() int64 { return a.file.Cost().Bytes },
		),
		gauge(
			"skerry_lease_ended",
			"1 while the lease of the site has ended, so that what must not run twice is stopped there.",
			a.leased.endedCount,
		),
		gauge("skerry_apply_pending", "Objects that the target does not hold as desired yet.", a.applier.Pending),
		gauge(
			"skerry_feed_entries",
			"What is live in the feeds: objects for all targets, or an agent's reports.",
			reported.Len,
		),
		gauge("skerry_feed_tombstones", "What the feeds remember to have been taken away.", reported.Tombstones)}
	if a.gatewayMetrics != nil {
		f.all = append(f.all, a.gatewayMetrics, a.servicesMetrics)
	}
	f.part.MustRegister(f.all...)
	return f
}

// close takes the figures back, so that an agent that begins again in this process can register its
// own.
func (f *figures) close() {
	for _, c := range f.all {
		f.part.Unregister(c)
	}
}

// heartbeat records how long the parent took to answer one.
func (f *figures) heartbeat(took time.Duration) { f.beats.Observe(took.Seconds()) }

// Tried implements apply.Listener.
func (a *agent) Tried(took time.Duration, failed bool) {
	result := "done"
	if failed {
		result = "failed"
	}
	a.figures.apply.WithLabelValues(result).Observe(took.Seconds())
}
