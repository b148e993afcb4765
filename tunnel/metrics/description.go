package metrics

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// The types of metrics, as Prometheus names them.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// Description is what a registered collector says of one metric.
type Description struct {
	// Name is the whole name. Type is Counter, Gauge or Histogram.
	Name, Type string
	// Labels are those that the collector sets, without "part".
	Labels []string
	Help   string
}

// Composite is a collector that is made of others. Collectors lists those of them that are
// histograms, or whose type their name does not tell.
type Composite interface {
	prometheus.Collector
	Collectors() []prometheus.Collector
}

// Descriptions lists the metrics of all parts that were ever registered, by name.
func (r *Registry) Descriptions() []Description {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Description, 0, len(r.described))
	for _, d := range r.described {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Description) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// describe records what a collector describes.
func (r *Registry) describe(c prometheus.Collector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range descriptions(c) {
		r.described[d.Name] = d
	}
	if of, ok := c.(Composite); ok {
		for _, part := range of.Collectors() {
			for _, d := range descriptions(part) {
				r.described[d.Name] = d
			}
		}
	}
}

func descriptions(c prometheus.Collector) (list []Description) {
	descs := make(chan *prometheus.Desc)
	go func() { defer close(descs); c.Describe(descs) }()
	for desc := range descs {
		d, ok := parse(desc)
		if !ok {
			continue
		}
		d.Type = typeOf(c, d.Name)
		list = append(list, d)
	}
	return list
}

// typeOf tells a histogram by its collector, the other types by the name: a counter ends in _total.
// Tests hold all names to that.
func typeOf(c prometheus.Collector, name string) string {
	if _, ok := c.(*prometheus.HistogramVec); ok {
		return Histogram
	}
	if _, ok := c.(prometheus.Histogram); ok {
		return Histogram
	}
	if strings.HasSuffix(name, "_total") {
		return Counter
	}
	return Gauge
}

// said is the form of prometheus.Desc.String, which has no other way to tell what it is.
var said = regexp.MustCompile(
	`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"),.* variableLabels: \{([^}]*)\}\}$`)

func parse(desc *prometheus.Desc) (d Description, ok bool) {
	m := said.FindStringSubmatch(desc.String())
	if m == nil {
		return d, false
	}
	var err1, err2 error
	d.Name, err1 = strconv.Unquote(m[1])
	d.Help, err2 = strconv.Unquote(m[2])
	if m[3] != "" {
		d.Labels = strings.Split(m[3], ",")
	}
	return d, err1 == nil && err2 == nil
}
