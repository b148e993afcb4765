package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/store/kine"
)

// healthMetrics tell of the center's disk, of errors of its storage, and of moves.
type healthMetrics struct{ s *Server }

var (
	descDisk = prometheus.NewDesc(
		"skerry_disk_free_bytes",
		"What may still be written to the disk of the data directory.",
		nil,
		nil,
	)
	descErrors = prometheus.NewDesc(
		"skerry_store_errors_total",
		"Errors of the storage below the center's database: full, damaged, read-only or broken.",
		[]string{"kind"},
		nil,
	)
	descMoves = prometheus.NewDesc(
		"skerry_moves",
		"Groups of objects that are not where they should be, by what they do: Waiting, GivenUp, VolumeWouldStay and others.",
		[]string{"phase"},
		nil,
	)
)

// Describe implements prometheus.Collector.
func (h healthMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- descDisk
	out <- descErrors
	out <- descMoves
}

// Collect implements prometheus.Collector.
func (h healthMetrics) Collect(out chan<- prometheus.Metric) {
	if free, ok := kine.Free(h.s.cfg.DataDir); ok {
		out <- prometheus.MustNewConstMetric(descDisk, prometheus.GaugeValue, float64(free))
	}
	for kind, n := range h.s.store.Troubles() {
		out <- prometheus.MustNewConstMetric(descErrors, prometheus.CounterValue, float64(n), string(kind))
	}
	phases := map[string]int{}
	for _, m := range h.s.delivery.Moves() {
		phases[string(m.Phase)]++
	}
	for phase, n := range phases {
		out <- prometheus.MustNewConstMetric(descMoves, prometheus.GaugeValue, float64(n), phase)
	}
}
