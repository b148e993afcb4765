package tcp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// DialConfig configures a dial of a parent.
type DialConfig struct {
	// TLS proves this side and verifies the parent; see enroll.Credentials.
	TLS *tls.Config
	// Dial opens the TCP connection to HOST:PORT. Nil dials directly. See package proxy.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// OnHeartbeat is called with the round trip of each heartbeat of a session's connection. It
	// must not wait. It may be nil.
	OnHeartbeat func(took time.Duration)
}

// Dial opens a connection to a parent's port at HOST:PORT.
func Dial(ctx context.Context, address string, cfg DialConfig) (tunnel.Conn, error) {
	c, rtt, err := dial(ctx, address, tunnel.ALPN, cfg)
	if err != nil {
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	return newConn(c, mux.Options{Child: true, RTT: rtt, OnHeartbeat: cfg.OnHeartbeat}), nil
}

// DialData opens a data connection to a parent's port at HOST:PORT.
func DialData(ctx context.Context, address string, cfg DialConfig) (*Data, error) {
	c, _, err := dial(ctx, address, tunnel.DataALPN, cfg)
	if err != nil {
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	return &Data{c, tunnel.Identity{}}, nil
}

// dial connects, and shakes hands for a protocol.
func dial(ctx context.Context, address, protocol string, cfg DialConfig) (c carrier, rtt time.Duration, err error) {
	dial := cfg.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	began := time.Now()
	raw, err := dial(ctx, "tcp", address)
	if err != nil {
		return c, 0, err
	}
	rtt = time.Since(began)
	config := cfg.TLS.Clone()
	config.MinVersion, config.NextProtos = tls.VersionTLS13, []string{protocol}
	if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	meter := NewMeter(raw)
	secure := tls.Client(meter, config)
	if err = secure.HandshakeContext(ctx); err == nil && secure.ConnectionState().NegotiatedProtocol != protocol {
		err = fmt.Errorf(
			"the server at %s does not let agents in over TCP (no %s); is it a center of this version?",
			address,
			protocol,
		)
	}
	if err != nil {
		raw.Close()
		return c, 0, err
	}
	return carrier{secure, meter}, rtt, nil
}
