package tracing

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// spans is a collector over OTLP.
type spans struct {
	collector.UnimplementedTraceServiceServer
	got chan *collector.ExportTraceServiceRequest
}

// Export implements the collector's service.
func (s *spans) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (
	*collector.ExportTraceServiceResponse, error) {
	s.got <- r
	return &collector.ExportTraceServiceResponse{}, nil
}

func collect(t *testing.T) (address string, s *spans) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = &spans{got: make(chan *collector.ExportTraceServiceRequest, 10)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return l.Addr().String(), s
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"

// What is sampled reaches the collector, at the end at the latest, and says whose it is.
func TestExport(t *testing.T) {
	address, collected := collect(t)
	e, err := Open(t.Context(), write(t, head+"endpoint: "+address+"\nsamplingRatePerMillion: 1000000\n"),
		Service{"skerry-agent", "paris", "v1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, span := e.Tracer().Tracer("test").Start(t.Context(), "one")
	span.End()
	e.Close()
	r := <-collected.got
	of := r.ResourceSpans[0]
	if name := of.ScopeSpans[0].Spans[0].Name; name != "one" {
		t.Errorf("span %q", name)
	}
	text := of.Resource.String()
	for _, want := range []string{"skerry-agent", "paris", "v1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the resource does not say %q: %s", want, text)
		}
	}
}

// Without a rate only what a parent has sampled is exported.
func TestNoRateFollowsTheParent(t *testing.T) {
	address, collected := collect(t)
	e, err := Open(t.Context(), write(t, head+"endpoint: "+address+"\n"), Service{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tracer := e.Tracer().Tracer("test")
	_, alone := tracer.Start(t.Context(), "alone")
	alone.End()
	_, below := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})), "below")
	below.End()
	e.Close()
	all := (<-collected.got).ResourceSpans[0].ScopeSpans[0].Spans
	if len(all) != 1 || all[0].Name != "below" {
		t.Errorf("spans %v", all)
	}
}

func TestWrongFiles(t *testing.T) {
	for what, text := range map[string]string{
		"kind":     "apiVersion: apiserver.config.k8s.io/v1\nkind: Tracing\n",
		"key":      head + "sampling: 1\n",
		"rate":     head + "samplingRatePerMillion: 1000001\n",
		"endpoint": head + "endpoint: https://localhost:4317\n",
		"no YAML":  "{",
	} {
		_, err := Open(t.Context(), write(t, text), Service{}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "--tracing-config: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Open(t.Context(), "/nowhere", Service{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A collector that is away is told of once in a while.
func TestFailuresAreToldSeldom(t *testing.T) {
	var log bytes.Buffer
	f := &failures{log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		f.Handle(errors.New("no route"))
	}
	if n := strings.Count(log.String(), "no route"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

func TestNilExporter(t *testing.T) {
	var e *Exporter
	e.Close()
	if e.Tracer() != nil {
		t.Error("a nil Exporter has a provider")
	}
}
