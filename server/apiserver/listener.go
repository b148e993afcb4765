package apiserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"skerry.dev/skerry/server/apiserver/share"
)

// shutdownGrace is how long requests in flight may take when the server ends.
const shutdownGrace = 3 * time.Second

func (s *Server) serveListener(ctx context.Context) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	server := &http.Server{
		Handler:           s.Handler(),
		TLSConfig:         s.TLSConfig(),
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 250, WriteByteTimeout: share.StuckAfter},
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(s.config.Listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// Watches never end by themselves: end them at once, so that only short requests use the grace.
	endRequests()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	<-failed
	return nil
}

// Handler is what answers the requests of Listener's connections. It can be asked without a
// connection.
func (s *Server) Handler() http.Handler { return s.front.outer() }

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
