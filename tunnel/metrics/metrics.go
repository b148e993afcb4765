package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Path is where a listener serves the metrics.
const Path = "/metrics"

// Registry has the collectors of a process.
type Registry struct{ all *prometheus.Registry }

// liveHeap is what the last garbage collection has found in use. The Go runtime's default figure
// includes the garbage since then.
var liveHeap = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)}

// New returns a registry with the collectors of the Go runtime and of the process.
func New() *Registry {
	r := &Registry{prometheus.NewRegistry()}
	r.all.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(liveHeap)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// Part returns where a part of the process registers its collectors. They carry the label
// part="name", so that the two halves of a relay do not conflict.
func (r *Registry) Part(name string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"part": name}, r.all)
}

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
		return nil, fmt.Errorf("listen for metrics (write --metrics-listen HOST:PORT, such as 127.0.0.1:7444): %w", err)
	}
	return &Listener{socket, log}, nil
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
