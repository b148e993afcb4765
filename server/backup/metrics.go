package backup

import "github.com/prometheus/client_golang/prometheus"

var (
	descLast = prometheus.NewDesc("skerry_backup_last_success_timestamp_seconds",
		"When the newest scheduled backup was made, in Unix time; 0 if there is none. A replica that stands by has none.",
		nil, nil)
	descSize = prometheus.NewDesc("skerry_backup_last_size_bytes",
		"Size of the newest scheduled backup.", nil, nil)
	descFailures = prometheus.NewDesc("skerry_backup_failures_total",
		"Scheduled backups that could not be taken, each retry counted.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r *Regular) Describe(out chan<- *prometheus.Desc) {
	out <- descLast
	out <- descSize
	out <- descFailures
}

// Collect implements prometheus.Collector. Before Run there is nothing: only the leader knows.
func (r *Regular) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running {
		return
	}
	last := 0.0
	if !r.last.IsZero() {
		last = float64(r.last.Unix())
	}
	out <- prometheus.MustNewConstMetric(descLast, prometheus.GaugeValue, last)
	out <- prometheus.MustNewConstMetric(descSize, prometheus.GaugeValue, float64(r.size))
	out <- prometheus.MustNewConstMetric(descFailures, prometheus.CounterValue, float64(r.failures))
}
