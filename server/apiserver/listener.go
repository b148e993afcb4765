package apiserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"skerry.dev/skerry/server/apiserver/browser"
	"skerry.dev/skerry/server/apiserver/share"
)

// shutdownGrace is how long requests in flight may take when the server ends.
const shutdownGrace = 3 * time.Second

func (s *Server) serveListener(ctx context.Context) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return serveUntil(ctx, s.config.Listener, &http.Server{
		Handler:           endStuck(s.Handler()),
		TLSConfig:         s.TLSConfig(),
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 250, WriteByteTimeout: share.StuckAfter},
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	})
}

// serveUntil serves until ctx or the listener ends. It leaves no connection open, whichever of both
// ends first.
func serveUntil(ctx context.Context, listener net.Listener, server *http.Server) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	server.BaseContext = func(net.Listener) context.Context { return requests }
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = server.Serve(listener)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	// Watches never end by themselves: end them at once, so that only short requests use the grace.
	endRequests()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	<-ended
	if ctx.Err() != nil {
		return nil
	}
	return failure
}

// endStuck ends the streams of HTTP/2 whose client does not take the end of the answer. It has no limit
// for that: who gives no window for any answer, a refusal even, would keep each of them in memory.
func endStuck(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			defer func() {
				_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(share.StuckAfter))
			}()
		}
		h.ServeHTTP(w, r)
	})
}

// Handler is what answers the requests of Listener's connections. It can be asked without a
// connection.
func (s *Server) Handler() http.Handler { return browser.Guard(s.front.outer(), s.named) }

// named reports whether the center's certificate has a host name.
func (s *Server) named(host string) bool {
	if s.config.TLS == nil || s.config.TLS.GetCertificate == nil {
		return false
	}
	c, err := s.config.TLS.GetCertificate(&tls.ClientHelloInfo{ServerName: host})
	return err == nil && c.Leaf != nil && c.Leaf.VerifyHostname(host) == nil
}

// TLSConfig is what the handshakes of the connections of Listener are to be done with.
func (s *Server) TLSConfig() *tls.Config {
	c := s.config.TLS.Clone()
	c.MinVersion = tls.VersionTLS12
	// Certificates are asked for, and checked by the authenticator: a wrong one is a Status, not a
	// broken handshake.
	c.ClientAuth = tls.RequestClientCert
	c.NextProtos = []string{"h2", "http/1.1"}
	if s.config.ClientCAs != nil {
		c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			one := c.Clone()
			one.GetConfigForClient, one.ClientCAs = nil, s.config.ClientCAs()
			return one, nil
		}
	}
	return c
}
