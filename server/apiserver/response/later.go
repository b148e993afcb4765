package response

import (
	"context"
	"net/http"
)

type laterKey struct{}

// WithLater returns the request for something that may say by Later when to ask again.
func WithLater(w http.ResponseWriter, r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), laterKey{}, w.Header()))
}

// Later sets Retry-After of the answer to a request from WithLater. Of others it does nothing.
func Later(ctx context.Context, when string) {
	if h, ok := ctx.Value(laterKey{}).(http.Header); ok {
		h.Set("Retry-After", when)
	}
}
