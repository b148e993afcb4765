package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store/kine"
)

// healthMetrics tell of the center's disk, of errors of its storage, of its certificate authority,
// and of moves.
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
	descAuthority = prometheus.NewDesc(
		"skerry_authority_expiry_timestamp_seconds",
		"When the center's certificate authority ends, as Unix time.",
		nil,
		nil,
	)
	descMoves = prometheus.NewDesc(
		"skerry_moves",
		"Groups of objects that are not where they should be, by what they do: Waiting, GivenUp, VolumeWouldStay and others.",
		[]string{"phase"},
		nil,
	)
	descLongest = prometheus.NewDesc(
		"skerry_move_longest_seconds",
		"How long the longest of these groups has moved; 0 where no time runs.",
		[]string{"phase"},
		nil,
	)
)

// movePhases are the phases of a group that is not where it should be.
var movePhases = []placement.Phase{placement.Starting, placement.Breaking, placement.Waiting, placement.GivenUp,
	placement.VolumeWouldStay, placement.WouldRunOn, placement.JobRunning, placement.Suspended, placement.Staying,
	placement.WaitsForTurn, placement.CannotLeave, placement.HookRunning, placement.HookFailed, placement.CopyingVolumes}

// Describe implements prometheus.Collector.
func (h healthMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descDisk, descErrors, descAuthority, descMoves, descLongest} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (h healthMetrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if free, ok := kine.Free(h.s.cfg.DataDir); ok {
		gauge(descDisk, float64(free))
	}
	for kind, n := range h.s.store.Troubles() {
		out <- prometheus.MustNewConstMetric(descErrors, prometheus.CounterValue, float64(n), string(kind))
	}
	gauge(descAuthority, float64(h.s.keys.Authorities().Until.Unix()))
	phases, longest := byPhase(h.s.delivery.Moves(), time.Now())
	for _, phase := range movePhases {
		gauge(descMoves, float64(phases[phase]), string(phase))
		gauge(descLongest, longest[phase].Seconds(), string(phase))
	}
}

// byPhase counts moves, and finds how long the longest of each phase has taken.
func byPhase(moves []placement.Moving, now time.Time) (map[placement.Phase]int, map[placement.Phase]time.Duration) {
	count, longest := map[placement.Phase]int{}, map[placement.Phase]time.Duration{}
	for _, m := range moves {
		count[m.Phase]++
		if !m.Since.IsZero() {
			longest[m.Phase] = max(longest[m.Phase], now.Sub(m.Since))
		}
	}
	return count, longest
}
