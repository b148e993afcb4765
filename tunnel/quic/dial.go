package quic

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// DialConfig says how to dial a parent.
type DialConfig struct {
	// TLS proves this side and verifies the parent; see enroll.Credentials.
	TLS *tls.Config
	Log *slog.Logger
}

// Dial opens a connection to a parent's door at HOST:PORT. The connection has a socket of its own, which ends with it.
func Dial(ctx context.Context, address string, cfg DialConfig) (tunnel.Conn, error) {
	remote, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	transport := &quicgo.Transport{Conn: socket}
	release := func() {
		_ = transport.Close()
		_ = socket.Close()
	}
	q, err := transport.Dial(ctx, remote, cfg.TLS, childConfig())
	if err != nil {
		release()
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	return newConn(q, tunnel.Identity{}, release), nil
}
