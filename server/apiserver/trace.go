package apiserver

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/trace"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/tracing"
)

// traceHeaders are those that continue a caller's trace.
var traceHeaders = []string{"Traceparent", "Tracestate", "Baggage"}

// kept is a provider that the API server does not shut down: the agent of a relay has it, too.
type kept struct{ trace.TracerProvider }

// Shutdown implements upstream's tracing.TracerProvider.
func (kept) Shutdown(context.Context) error { return nil }

// ownTraces lets only root and the center's own parts continue a trace: whoever works in a space
// must not choose what is sampled.
func ownTraces(space string, r *http.Request) {
	if space == request.RootSpace || request.FromCenter(r.Context()) {
		return
	}
	for _, name := range traceHeaders {
		r.Header.Del(name)
	}
}

// followed marks a request whose write is followed to its targets. Of the center's own parts those are
// followed that continue a trace: the agent of a relay. Of all others their statuses are not.
func followed(r *http.Request) *http.Request {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest || info.Subresource != "" && info.Subresource != "scale" ||
		!trace.SpanContextFromContext(r.Context()).IsSampled() {
		return r
	}
	switch info.Verb {
	case "create", "update", "patch", "delete":
	default:
		return r
	}
	if request.FromCenter(r.Context()) && r.Header.Get(traceHeaders[0]) == "" {
		return r
	}
	return r.WithContext(tracing.Follow(r.Context()))
}
