package server

import "github.com/prometheus/client_golang/prometheus"

// watchMetrics tell how many watches clients have open, and which the center had to end.
type watchMetrics struct{ s *Server }

var (
	descWatches = prometheus.NewDesc("skerry_watches",
		"Watches that clients have open, of all spaces.", nil, nil)
	descWatchesEnded = prometheus.NewDesc("skerry_watches_ended_total",
		"Watches that the center has ended because their readers were too slow or their space needed the memory.",
		[]string{"reason"}, nil)
)

// Describe implements prometheus.Collector.
func (watchMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- descWatches
	out <- descWatchesEnded
}

// Collect implements prometheus.Collector.
func (w watchMetrics) Collect(out chan<- prometheus.Metric) {
	open, ended := w.s.api.Watches()
	out <- prometheus.MustNewConstMetric(descWatches, prometheus.GaugeValue, float64(open))
	for why, n := range ended {
		out <- prometheus.MustNewConstMetric(descWatchesEnded, prometheus.CounterValue, float64(n), why.String())
	}
}
