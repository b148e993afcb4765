package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Path is where a listener serves the metrics.
const Path = "/metrics"

// Registry has the collectors of a process. Its methods may be called concurrently.
type Registry struct {
	all *prometheus.Registry

	mu        sync.Mutex
	described map[string]Description // by name
}

// Build says which binary runs.
type Build struct {
	// Version is the release, Revision the commit of the source. Empty means unknown.
	Version, Revision string
}

// liveHeap is what the last garbage collection has found in use. The Go runtime's default figure
// includes the garbage since then.
var liveHeap = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)}

// New returns a registry with the collectors of the Go runtime and of the process, and
// skerry_build_info.
func New(b Build) *Registry {
	r := &Registry{all: prometheus.NewRegistry(), described: map[string]Description{}}
	r.all.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(liveHeap)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "skerry_build_info", Help: "The binary that runs; the value is 1.",
	}, []string{"version", "goversion", "revision"})
	info.WithLabelValues(known(b.Version), runtime.Version(), known(b.Revision)).Set(1)
	r.all.MustRegister(info)
	r.describe(info)
	return r
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// Part returns where a part of the process registers its collectors. They carry the label
// part="name", so that the two halves of a relay do not conflict.
func (r *Registry) Part(name string) prometheus.Registerer {
	return part{prometheus.WrapRegistererWith(prometheus.Labels{"part": name}, r.all), r}
}

// part is a Registerer that records what it registers.
type part struct {
	prometheus.Registerer
	registry *Registry
}

// Register implements prometheus.Registerer.
func (p part) Register(c prometheus.Collector) error {
	err := p.Registerer.Register(c)
	if err == nil {
		p.registry.describe(c)
	}
	return err
}

// MustRegister implements prometheus.Registerer.
func (p part) MustRegister(list ...prometheus.Collector) {
	for _, c := range list {
		if err := p.Register(c); err != nil {
			panic(err)
		}
	}
}

// Gather implements prometheus.Gatherer.
func (r *Registry) Gather() ([]*dto.MetricFamily, error) { return r.all.Gather() }

// Handler serves the metrics, and those of further sources in the same answer. It checks no
// credentials.
func (r *Registry) Handler(more ...prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(append(prometheus.Gatherers{r.all}, more...), promhttp.HandlerOpts{})
}

// Times of the listener: a scrape is one small request.
const (
	readTime  = 5 * time.Second
	writeTime = 30 * time.Second
	closeTime = time.Second
)

// Listener serves the metrics over plain HTTP to everybody who can reach it.
type Listener struct {
	socket net.Listener
	log    *slog.Logger
}

// Listen opens the address, HOST:PORT.
func Listen(address string, log *slog.Logger) (*Listener, error) {
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics: %w; %s", err, whenNotBound(err))
	}
	return &Listener{socket, log}, nil
}

// whenNotBound says what to do about an address that cannot be listened on.
func whenNotBound(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "stop what uses the port, or choose another --metrics-listen"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no interface of this machine has that address: write another with --metrics-listen"
	}
	return "write --metrics-listen HOST:PORT, such as 127.0.0.1:7444"
}

// Addr returns the address that it listens on.
func (l *Listener) Addr() net.Addr { return l.socket.Addr() }

// Close closes the socket if Run was not called.
func (l *Listener) Close() error {
	if err := l.socket.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Run serves a handler at Path until ctx ends, and closes the socket.
func (l *Listener) Run(ctx context.Context, h http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, h)
	server := &http.Server{Handler: mux, ReadTimeout: readTime, WriteTimeout: writeTime, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(l.log.Handler(), slog.LevelDebug)}
	l.log.Info("metrics are served", "url", "http://"+l.socket.Addr().String()+Path)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l.socket) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve metrics: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	<-ended
	return nil
}
