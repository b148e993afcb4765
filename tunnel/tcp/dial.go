package tcp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"skerry.dev/skerry/tunnel"
)

// DialConfig says how to dial a parent.
type DialConfig struct {
	// TLS proves this side and verifies the parent; see enroll.Credentials.
	TLS *tls.Config
	// Dial opens the TCP connection to HOST:PORT, directly when it is nil. See package proxy.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dial opens a connection to a parent's port at HOST:PORT.
func Dial(ctx context.Context, address string, cfg DialConfig) (tunnel.Conn, error) {
	dial := cfg.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	began := time.Now()
	raw, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	rtt := time.Since(began)
	config := cfg.TLS.Clone()
	config.MinVersion, config.NextProtos = tls.VersionTLS13, []string{tunnel.ALPN}
	if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	meter := NewMeter(raw)
	secure := tls.Client(meter, config)
	if err = secure.HandshakeContext(ctx); err == nil && secure.ConnectionState().NegotiatedProtocol != tunnel.ALPN {
		err = fmt.Errorf("the server at %s does not let agents in over TCP (no %s); is it a center of this version?", address, tunnel.ALPN)
	}
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	return newConn(carrier{secure, meter}, tunnel.Identity{}, true, rtt), nil
}
