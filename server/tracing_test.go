package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/tracing"
)

// continues is a transport that says to which trace requests belong.
type continues struct{ http.RoundTripper }

const parent = "00-0500000000000000000000000000000a-0600000000000000-01"

// RoundTrip implements http.RoundTripper.
func (c continues) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Traceparent", parent)
	return c.RoundTripper.RoundTrip(r)
}

func continuing(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return continues{rt} })
	return c
}

// write is one that is made in the test, and what becomes of it: "", its "own" trace, or the "given"
// one.
type write struct {
	what, space string
	as          func(c *center) *rest.Config
	want        string
}

func inShop(c *center) *rest.Config     { return c.admin("shop") }
func inRoot(c *center) *rest.Config     { return c.admin("root") }
func byLoopback(c *center) *rest.Config { return c.api.Loopback("shop") }

func asking(as func(*center) *rest.Config) func(*center) *rest.Config {
	return func(c *center) *rest.Config { return continuing(as(c)) }
}

// A sampled write is followed by its key. Who works in a space cannot choose that it is sampled, and
// what the center writes by itself is not followed.
func TestWritesAreFollowed(t *testing.T) {
	for rate, writes := range map[float64][]write{
		1: {{"sampled by rate", "shop", inShop, "own"}, {"the center by itself", "shop", byLoopback, ""}},
		0: {
			{"not sampled", "shop", inShop, ""},
			{"a user of a space asks", "shop", asking(inShop), ""},
			{"an admin of root asks", "root", asking(inRoot), "given"},
			{"a relay's agent", "shop", asking(byLoopback), "given"},
		},
	} {
		spans := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans),
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(rate))))
		follower := tracing.New(provider)
		c := start(t, t.TempDir(), newAuthority(t), nil, func(config *apiserver.Config) {
			config.Tracer, config.Trace = provider, follower
		})
		c.createSpace("shop", "Delete")
		for i, w := range writes {
			follows(t, c, follower, spans, w, fmt.Sprint("m", i))
		}
		c.stop()
	}
}

// follows makes a ConfigMap and looks whether it is followed.
func follows(t *testing.T, c *center, f *tracing.Follower, spans *tracetest.SpanRecorder, w write, name string) {
	t.Helper()
	given, err := trace.TraceIDFromHex(parent[3:35])
	must(t, err)
	made, err := clients(t, w.as(c)).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	revision, err := strconv.ParseInt(made.ResourceVersion, 10, 64)
	must(t, err)
	k := store.Key{Space: w.space, Resource: "configmaps", Namespace: "default", Name: name}
	span := f.To("paris").Sending(store.Entry{Key: k, Revision: revision})
	if span == nil || w.want == "" {
		if (span == nil) != (w.want == "") {
			t.Errorf("%s: span %v, want trace %q", w.what, span, w.want)
		}
		return
	}
	of := trace.TraceID(span.IDs().Trace)
	if (of == given) != (w.want == "given") {
		t.Errorf("%s: trace %s", w.what, of)
	}
	within(t, time.Minute, "the request's span", func() bool {
		return slices.ContainsFunc(spans.Ended(), func(s sdktrace.ReadOnlySpan) bool {
			return s.SpanContext().TraceID() == of && s.SpanKind() == trace.SpanKindServer
		})
	})
}
