package response

import (
	"context"
	"net/http"
	"time"
)

type writerKey struct{}

// WithWriter returns the request for something that calls Later and BreakOff without having w.
func WithWriter(w http.ResponseWriter, r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), writerKey{}, w))
}

// Later sets Retry-After of the answer to a request from WithWriter. Of others it does nothing.
func Later(ctx context.Context, when string) {
	if w, ok := ctx.Value(writerKey{}).(http.ResponseWriter); ok {
		w.Header().Set("Retry-After", when)
	}
}

// BreakOff ends the answer to a request from WithWriter as Break does. To others it does nothing.
func BreakOff(ctx context.Context) {
	if w, ok := ctx.Value(writerKey{}).(http.ResponseWriter); ok {
		Break(w)
	}
}

// Break ends an answer behind what was flushed, so that the client gets an error and does not take
// the answer for whole. The handler returns after it.
func Break(w http.ResponseWriter) {
	// HTTP/2 resets the stream; over HTTP/1.1 the end of the answer cannot be written any more.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
}
