package metrics_test

import (
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/tunnel/metrics"
)

// both is a collector that is made of a histogram and of something that it describes itself.
type both struct{ h *prometheus.HistogramVec }

var itself = prometheus.NewDesc("skerry_b", `What "b" is.`, []string{"x", "y"}, nil)

func (b both) Describe(out chan<- *prometheus.Desc) { b.h.Describe(out); out <- itself }
func (b both) Collect(chan<- prometheus.Metric)     {}
func (b both) Collectors() []prometheus.Collector   { return []prometheus.Collector{b.h} }
func counter(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: name, Help: help}
}

// The registry says what was registered, with types, before anything was counted, and after a part
// has taken its collectors back.
func TestDescriptions(t *testing.T) {
	r := metrics.New(metrics.Build{Version: "1.2.3"})
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "skerry_a_seconds", Help: "How long."}, []string{"z"})
	n := prometheus.NewCounter(counter("skerry_c_total", "How many."))
	part := r.Part("center")
	part.MustRegister(both{h}, n)
	part.Unregister(n)
	want := []metrics.Description{
		{Name: "skerry_a_seconds", Type: metrics.Histogram, Labels: []string{"z"}, Help: "How long."},
		{Name: "skerry_b", Type: metrics.Gauge, Labels: []string{"x", "y"}, Help: `What "b" is.`},
		{Name: "skerry_build_info", Type: metrics.Gauge, Labels: []string{"version", "goversion", "revision"},
			Help: "The binary that runs; the value is 1."},
		{Name: "skerry_c_total", Type: metrics.Counter, Help: "How many."},
	}
	if got := r.Descriptions(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if part.Register(both{h}) == nil {
		t.Error("what is registered already is registered again")
	}
}
