package server

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/store"
)

// feedLengths tells how much the desired feeds of all targets hold.
type feedLengths struct{ feeds func() iter.Seq[*store.Feed] }

var (
	descEntries = prometheus.NewDesc(
		"skerry_feed_entries",
		"What is live in the feeds: objects for all targets, or an agent's reports.",
		nil,
		nil,
	)
	descTombstones = prometheus.NewDesc(
		"skerry_feed_tombstones",
		"What the feeds remember to have been taken away.",
		nil,
		nil,
	)
	descTargets = prometheus.NewDesc("skerry_feed_targets", "Targets that have a desired feed.", nil, nil)
)

// Describe implements prometheus.Collector.
func (f *feedLengths) Describe(out chan<- *prometheus.Desc) {
	out <- descEntries
	out <- descTombstones
	out <- descTargets
}

// Collect implements prometheus.Collector.
func (f *feedLengths) Collect(out chan<- prometheus.Metric) {
	var entries, tombstones, targets int
	for feed := range f.feeds() {
		targets++
		entries += feed.Len()
		tombstones += feed.Tombstones()
	}
	gauge := func(d *prometheus.Desc, v int) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	gauge(descEntries, entries)
	gauge(descTombstones, tombstones)
	gauge(descTargets, targets)
}
