package upward

import (
	"context"
	"net"
	"net/http"
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
			return newConn(s, func(c *conn) { c.over(endTime) }), nil
		},
		DisableKeepAlives: true, DisableCompression: true,
		ResponseHeaderTimeout: answerTime, MaxResponseHeaderBytes: MaxHead,
	}
}
