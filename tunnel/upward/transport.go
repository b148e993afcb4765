package upward

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"skerry.dev/skerry/tunnel"
)

// answerTime is how long a child waits for the head of an answer. An API server answers within 60 s.
const answerTime = 70 * time.Second

// Opener opens streams to the parent.
type Opener interface {
	OpenStream(ctx context.Context) (tunnel.Stream, error)
}

// NewTransport returns a transport that sends each request over a stream of its own. The host of a
// request means nothing. Errors of the opener come out wrapped.
func NewTransport(up Opener) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			s, err := up.OpenStream(ctx)
			if err != nil {
				return nil, err
			}
			if ctx.Value(answersAtOnce{}) != nil {
				tunnel.Expect(s, tunnel.Answered)
			}
			return newConn(s, func(c *conn) { c.over(endTime) }), nil
		},
		DisableKeepAlives: true, DisableCompression: true,
		ResponseHeaderTimeout: answerTime, MaxResponseHeaderBytes: MaxHead,
	}
}

// answersAtOnce is the key of a request's context that says that its answer has an end, and is there as a whole.
type answersAtOnce struct{}

// expecting marks such requests.
type expecting struct{ up http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (e expecting) RoundTrip(r *http.Request) (*http.Response, error) {
	if hasEnd(r) {
		r = r.WithContext(context.WithValue(r.Context(), answersAtOnce{}, true))
	}
	return e.up.RoundTrip(r)
}

// hasEnd reports whether what is asked for is read once: neither watched, followed nor a connection.
func hasEnd(r *http.Request) bool {
	query := r.URL.Query()
	watch, _ := strconv.ParseBool(query.Get("watch"))
	follow, _ := strconv.ParseBool(query.Get("follow"))
	return r.Method == http.MethodGet && !watch && !follow && r.Header.Get("Upgrade") == ""
}
