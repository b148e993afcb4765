package agent

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/tracing"
)

// A sampled change at the parent, its sending, the agent's write and the request that the cluster
// gets are one trace. A change that is not sampled leaves nothing.
func TestOneTraceToTheCluster(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	c, api := newCenter(t), targettest.NewInMemory(t)
	c.follow = tracing.New(provider)
	var mu sync.Mutex
	headers := map[string]string{} // by the object's name
	api.Handle(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			mu.Lock()
			defer mu.Unlock()
			headers[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]] = r.Header.Get("Traceparent")
		}
		return false
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{DataDir: t.TempDir(), Parents: []string{c.web.URL}, Token: c.token.String(), Name: "paris",
			Target: target.Cluster(api.Config()), Tracer: provider, Log: discard()})
	}()
	sampled, other := configMap("app", "sampled", "1"), configMap("app", "other", "1")
	of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{5}, SpanID: trace.SpanID{6},
		TraceFlags: trace.FlagsSampled})
	request := tracing.Follow(trace.ContextWithSpanContext(t.Context(), of))
	wrote := c.follow.Writing(request, sampled.Key)
	c.place(namespace("app"), sampled, other)
	wrote(1)
	eventually(t, "both are applied", func() bool {
		for _, e := range []store.Entry{sampled, other} {
			if r := c.reported(e.Key); r == nil || r.Applied != e.Hash.String() {
				return false
			}
		}
		return true
	})
	names := func() (list string) {
		for _, s := range spans.Ended() {
			if s.SpanContext().TraceID() != of.TraceID() {
				t.Errorf("span %s is in trace %s", s.Name(), s.SpanContext().TraceID())
			}
			list += s.Name() + " "
		}
		return list
	}
	eventually(t, "both spans are over", func() bool {
		return strings.Contains(names(), tracing.SpanSend) && strings.Contains(names(), tracing.SpanApply)
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := headers["sampled"]; !strings.HasPrefix(got, "00-"+of.TraceID().String()) || !strings.HasSuffix(got, "-01") {
		t.Errorf("the cluster got traceparent %q", got)
	}
	if got := headers["other"]; got != "" {
		t.Errorf("the cluster got traceparent %q for what is not sampled", got)
	}
}
