// Package tracing exports traces of OpenTelemetry as a Kubernetes TracingConfiguration says: to a
// collector, over OTLP, by rate. It is what kube-apiserver's --tracing-config-file and kubelet's
// tracing are made of, so the file has the form that they take:
//
//	apiVersion: apiserver.config.k8s.io/v1
//	kind: TracingConfiguration
//	endpoint: localhost:4317
//	samplingRatePerMillion: 100
//
// A nil Exporter exports nothing.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	tracing "k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"sigs.k8s.io/yaml"
)

// failures tells that spans are not exported, not at each try.
type failures struct {
	log *slog.Logger

	mu   sync.Mutex
	told time.Time
}

// tellEvery is how often it is told.
const tellEvery = 10 * time.Minute

// Handle implements otel.ErrorHandler.
func (f *failures) Handle(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.told) >= tellEvery {
		f.told = now
		f.log.Warn("traces are not exported; see the endpoint in --tracing-config", "err", err)
	}
}

// closeTime bounds the export of what is left at the end.
const closeTime = 3 * time.Second

// Service says whose spans they are.
type Service struct{ Name, Instance, Version string }

// Exporter exports spans in the background.
type Exporter struct {
	provider tracing.TracerProvider
	log      *slog.Logger
}

// file is what a configuration has. Kubernetes has several versions of one form.
type file struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	tracingapi.TracingConfiguration
}

// Open reads a configuration, for the whole process. The collector need not be there: spans that it does not take are
// dropped, and the log says so.
func Open(ctx context.Context, path string, s Service, log *slog.Logger) (*Exporter, error) {
	config, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("--tracing-config: %w", err)
	}
	// The library counts its own work for ever, unless it is told not to.
	otel.SetMeterProvider(metricnoop.NewMeterProvider())
	otel.SetErrorHandler(&failures{log: log})
	provider, err := tracing.NewProvider(ctx, config, nil, []resource.Option{resource.WithAttributes(
		attribute.String("service.name", s.Name),
		attribute.String("service.instance.id", s.Instance),
		attribute.String("service.version", s.Version),
	)})
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	return &Exporter{provider, log}, nil
}

func read(path string) (*tracingapi.TracingConfiguration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f file
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return nil, fmt.Errorf("%s is no TracingConfiguration: %w", path, err)
	}
	if f.Kind != "TracingConfiguration" {
		return nil, fmt.Errorf("%s: kind %q, want TracingConfiguration of apiserver.config.k8s.io/v1", path, f.Kind)
	}
	if errs := tracingapi.ValidateTracingConfiguration(&f.TracingConfiguration, nil, nil); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", path, errs.ToAggregate())
	}
	return &f.TracingConfiguration, nil
}

// Tracer makes spans; nil for a nil Exporter.
func (e *Exporter) Tracer() trace.TracerProvider {
	if e == nil {
		return nil
	}
	return e.provider
}

// Close exports what is left, for a moment.
func (e *Exporter) Close() {
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		e.log.Warn("the last traces are not exported", "err", err)
	}
}
