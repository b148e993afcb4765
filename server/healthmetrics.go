package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/server/delivery"
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
	descStandbys = prometheus.NewDesc("skerry_standbys", "Claims that have a standby with a whole round.", nil, nil)
	descOldest   = prometheus.NewDesc("skerry_standby_oldest_seconds",
		"How long ago the last whole round of the standby began that is the oldest; 0 where there is none.", nil, nil)
	descRounds = prometheus.NewDesc("skerry_standby_rounds_total",
		"Whole rounds of standbys, a claim each, since this center leads.", nil, nil)
	descRoundBytes = prometheus.NewDesc("skerry_standby_bytes_total",
		"Bytes of blocks that crossed in rounds of standbys, before they are compressed.", nil, nil)
)

// movePhases are the phases of a group that is not where it should be.
var movePhases = []placement.Phase{placement.Starting, placement.Breaking, placement.Waiting, placement.GivenUp,
	placement.VolumeWouldStay, placement.WouldRunOn, placement.JobRunning, placement.Suspended, placement.Staying,
	placement.WaitsForTurn, placement.CannotLeave, placement.HookRunning, placement.HookFailed, placement.CopyingVolumes}

// Describe implements prometheus.Collector.
func (h healthMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descDisk, descErrors, descAuthority, descMoves, descLongest,
		descStandbys, descOldest, descRounds, descRoundBytes} {
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
	h.standbys(out)
}

// standbys tells of the standbys of volumes, where this center makes copies.
func (h healthMetrics) standbys(out chan<- prometheus.Metric) {
	if h.s.volumes == nil {
		return
	}
	claims, oldest := delivery.StandbysOf(h.s.delivery)
	age := 0.0
	if !oldest.IsZero() {
		age = time.Since(oldest).Seconds()
	}
	rounds, bytes := h.s.volumes.Sent()
	for _, m := range []struct {
		desc *prometheus.Desc
		kind prometheus.ValueType
		is   float64
	}{
		{descStandbys, prometheus.GaugeValue, float64(claims)}, {descOldest, prometheus.GaugeValue, age},
		{descRounds, prometheus.CounterValue, float64(rounds)}, {descRoundBytes, prometheus.CounterValue, float64(bytes)},
	} {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.is)
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
