package tracing

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"skerry.dev/skerry/store"
)

func provider() (*sdktrace.TracerProvider, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample()))), spans
}

var key = store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "default", Name: "web"}

// request is the context of a request with a span; id is of its trace.
func request(id byte, sampled bool) context.Context {
	config := trace.SpanContextConfig{TraceID: trace.TraceID{id}, SpanID: trace.SpanID{1}}
	if sampled {
		config.TraceFlags = trace.FlagsSampled
	}
	return Follow(trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(config)))
}

func at(revision int64) store.Entry { return store.Entry{Key: key, Revision: revision} }

// One trace leads from a request through the sending to a target's write.
func TestOneTrace(t *testing.T) {
	p, spans := provider()
	center, agent := New(p), New(p)
	center.Writing(request(7, true), key)(10)
	span := center.To("paris").Sending(at(11))
	if span == nil {
		t.Fatal("the entry of the write is not followed")
	}
	agent.Received(key, span.IDs())
	ctx, ended := agent.Apply(t.Context(), at(11))
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		t.Error("requests to the target are not in the span")
	}
	ended(errors.New("not yet"))
	_, ended = agent.Apply(t.Context(), at(11))
	ended(nil)
	if _, ended := agent.Apply(t.Context(), at(11)); agent.changes.order.Len() != 0 {
		ended(nil)
		t.Error("after a success the change is still followed")
	}
	span.End(nil)
	if span := center.To("rome").Sending(at(11)); span == nil {
		t.Error("the same revision is not followed to another target")
	} else {
		span.End(errors.New("away"))
	}
	if center.To("paris").Sending(at(12)) != nil {
		t.Error("a later revision of the key is followed")
	}
	var got []string
	for _, s := range spans.Ended() {
		if s.SpanContext().TraceID() != (trace.TraceID{7}) {
			t.Errorf("%s is in trace %s", s.Name(), s.SpanContext().TraceID())
		}
		got = append(got, fmt.Sprint(s.Name(), " ", s.Status().Code))
	}
	if fmt.Sprint(got) != "[skerry.apply Error skerry.apply Unset skerry.send Unset skerry.send Error]" {
		t.Errorf("spans %v", got)
	}
}

func TestWhatIsNotFollowed(t *testing.T) {
	p, _ := provider()
	for what, write := range map[string]func(f *Follower){
		"not sampled": func(f *Follower) { f.Writing(request(1, false), key)(10) },
		"not marked": func(f *Follower) {
			f.Writing(trace.ContextWithSpanContext(t.Context(), trace.SpanContextFromContext(request(1, true))), key)(10)
		},
		"came to nothing": func(f *Follower) { f.Writing(request(1, true), key)(0) },
		"written later":   func(f *Follower) { f.Writing(request(1, true), key)(12) },
		"sent before it": func(f *Follower) {
			f.Writing(request(1, true), key)(11)
			f.Writing(request(2, true), key) // which goes on
		},
	} {
		f := New(p)
		write(f)
		if f.To("paris").Sending(at(11)) != nil {
			t.Errorf("%s: the entry is followed", what)
		}
	}
	f := New(p)
	f.Writing(request(1, true), key)
	if f.To("paris").Sending(at(11)) == nil {
		t.Error("an entry that is sent before its write has returned is not followed")
	}
}

func TestNilFollower(t *testing.T) {
	f := New(nil)
	f.Writing(request(1, true), key)(1)
	if f.To("paris") != nil {
		t.Error("a nil Follower has a Tracer")
	}
	f.Received(key, sent{trace.SpanFromContext(request(1, true))}.IDs())
	ctx, ended := f.Apply(t.Context(), at(1))
	ended(nil)
	if ctx != t.Context() {
		t.Error("the context is another one")
	}
}

// What is kept is bounded in number and time.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := provider()
		f := New(p)
		for i := range 2 * maxChanges {
			k := key
			k.Name = fmt.Sprint("web-", i)
			f.Writing(request(1, true), k)(int64(i + 1))
		}
		if n := len(f.changes.of); n != maxChanges || f.changes.order.Len() != n {
			t.Errorf("%d changes are kept, at most %d", n, maxChanges)
		}
		f.Writing(request(1, true), key)(5000)
		time.Sleep(maxAge + time.Second)
		if f.To("paris").Sending(at(5001)) != nil || len(f.changes.of) != 0 || f.changes.few.Load() != 0 {
			t.Errorf("%d old changes are kept", len(f.changes.of))
		}
	})
}
