package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/wire"
)

// The names of spans.
const (
	SpanSend  = "skerry.send"
	SpanApply = "skerry.apply"
)

// scope names this library in spans.
const scope = "skerry.dev/skerry"

// Follower follows changes through one tier. Its methods may be called concurrently; those of a nil
// Follower do nothing.
type Follower struct {
	tracer  trace.Tracer
	changes *changes
}

// New returns a Follower that exports to a provider; nil for a nil provider.
func New(provider trace.TracerProvider) *Follower {
	if provider == nil {
		return nil
	}
	return &Follower{tracer: provider.Tracer(scope), changes: newChanges()}
}

type followed struct{}

// Follow marks a request whose write is followed.
func Follow(ctx context.Context) context.Context { return context.WithValue(ctx, followed{}, true) }

// Followed reports whether a request was marked.
func Followed(ctx context.Context) bool { return ctx.Value(followed{}) != nil }

// Writing is called before a write. What it returns is called after it, with the revision of the
// write; 0 if there was none. Only a write of a marked request whose span is sampled is followed.
func (f *Follower) Writing(ctx context.Context, k store.Key) (wrote func(revision int64)) {
	if f == nil || !Followed(ctx) {
		return func(int64) {}
	}
	of := trace.SpanContextFromContext(ctx)
	if !of.IsSampled() || !of.IsValid() {
		return func(int64) {}
	}
	is := f.changes.put(k, of, time.Now())
	return func(revision int64) { f.changes.wrote(is, revision) }
}

// To returns what follows the entries that are sent to a target; nil for a nil Follower.
func (f *Follower) To(target string) delta.Tracer {
	if f == nil {
		return nil
	}
	return sending{f, target}
}

type sending struct {
	*Follower
	target string
}

// Sending implements delta.Tracer.
func (s sending) Sending(e store.Entry) delta.Span {
	of, ok := s.changes.carriedBy(e.Key, e.Revision, time.Now())
	if !ok {
		return nil
	}
	span := s.start(of, SpanSend, e, trace.SpanKindProducer, attribute.String("skerry.target", s.target))
	return sent{span}
}

// sent is a delta.Span.
type sent struct{ trace.Span }

// IDs implements delta.Span.
func (s sent) IDs() wire.TraceIDs {
	of := s.SpanContext()
	return wire.TraceIDs{Trace: of.TraceID(), Span: of.SpanID()}
}

// End implements delta.Span.
func (s sent) End(err error) { end(s.Span, err) }

// Received is called for an entry that belongs to a trace, before it is stored.
func (f *Follower) Received(k store.Key, ids wire.TraceIDs) {
	if f == nil {
		return
	}
	f.changes.put(k, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: ids.Trace, SpanID: ids.Span, TraceFlags: trace.FlagsSampled, Remote: true,
	}), time.Now())
}

// Apply begins the span of a try to bring an entry to the target, if its change is followed. The
// context leads requests to it. ended is called with what came of the try; after a success the
// change is not followed any more.
func (f *Follower) Apply(ctx context.Context, e store.Entry) (_ context.Context, ended func(error)) {
	if f == nil {
		return ctx, func(error) {}
	}
	of, ok := f.changes.get(e.Key, time.Now())
	if !ok {
		return ctx, func(error) {}
	}
	span := f.start(of, SpanApply, e, trace.SpanKindConsumer)
	return trace.ContextWithSpan(ctx, span), func(err error) {
		end(span, err)
		if err == nil {
			f.changes.done(e.Key, of)
		}
	}
}

// start begins a span below another tier's, or another goroutine's.
func (f *Follower) start(of trace.SpanContext, name string, e store.Entry, kind trace.SpanKind,
	more ...attribute.KeyValue) trace.Span {
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), of)
	_, span := f.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(append(more,
		attribute.String("skerry.space", e.Key.Space),
		attribute.String("skerry.group", e.Key.Group),
		attribute.String("skerry.resource", e.Key.Resource),
		attribute.String("k8s.namespace.name", e.Key.Namespace),
		attribute.String("skerry.name", e.Key.Name),
		attribute.Int64("skerry.revision", e.Revision),
		attribute.Bool("skerry.deletion", e.Tombstone))...))
	return span
}

func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
