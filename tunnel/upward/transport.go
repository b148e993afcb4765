package upward

import (
	"context"
	"net"
	"net/http"
	"net/url"
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
	return r.Method == http.MethodGet && !IsWatch(r) && !says(r.URL.Query(), "follow") && r.Header.Get("Upgrade") == ""
}

// IsWatch reports whether a request asks for a watch, as an API server reads it.
func IsWatch(r *http.Request) bool { return r.Method == http.MethodGet && says(r.URL.Query(), "watch") }

// says reports whether an option is given and not false.
func says(query url.Values, option string) bool {
	values, given := query[option]
	if !given {
		return false
	}
	switch values[0] {
	case "0", "false", "False", "FALSE", "f", "F":
		return false
	}
	return true
}
