package apiserver

import (
	"context"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/test/bufconn"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver/request"
)

// loopback is the way of the center's own parts to the API: HTTP/2 in memory. There is nothing to
// steal, since no socket leads here; what comes in this way is the center (see request.FromCenter).
type loopback struct {
	listener  *bufconn.Listener
	transport *http.Transport
}

func newLoopback() *loopback {
	l := bufconn.Listen(64 << 10)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &loopback{listener: l, transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return l.DialContext(ctx) },
		Protocols:           protocols,
		MaxIdleConnsPerHost: 16,
	}}
}

func (l *loopback) config(space string) *rest.Config {
	host := "http://skerry.invalid" // never resolved
	if space != request.RootSpace {
		host += request.URLPrefix + space
	}
	return &rest.Config{Host: host, Transport: l.transport, QPS: -1, UserAgent: "skerry-center"}
}

// server returns the HTTP server of the loopback; base ends its requests.
func (l *loopback) server(h http.Handler, base context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100_000},
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 30 * time.Second,
	}
}
