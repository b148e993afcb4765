package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// DialConfig says how to dial a parent.
type DialConfig struct {
	// TLS proves this side and verifies the parent; see enroll.Credentials.
	TLS *tls.Config
	// HandshakeIdle is how long the parent may be silent while the connection is made; 0 means 5 s. The whole takes at most twice as long.
	HandshakeIdle time.Duration
	// OnWake is called with each call of the parent's that comes beside the connection, see Listener.Wake, by who reads the socket: it must not wait. Nil ignores them.
	OnWake func(datagram []byte)
	Log    *slog.Logger
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
	c, err := dialOver(ctx, socket, remote, cfg)
	if err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	return c, nil
}

// dialOver dials over a socket, which ends with the connection.
func dialOver(ctx context.Context, packet net.PacketConn, remote net.Addr, cfg DialConfig) (*conn, error) {
	b := newBeat(cfg.OnWake, func(datagram []byte) { _, _ = packet.WriteTo(datagram, remote) }) // lost like any other when it fails
	transport := &quicgo.Transport{Conn: beside(packet, b.take)}
	q, err := transport.Dial(ctx, remote, cfg.TLS, childConfig(cfg.HandshakeIdle))
	if err != nil {
		return nil, errors.Join(err, transport.Close())
	}
	c, err := newConn(q, tunnel.Identity{})
	if err != nil {
		return nil, errors.Join(err, c.Close(nil), transport.Close())
	}
	c.asks = make(chan struct{}, 1)
	var beating sync.WaitGroup
	beating.Go(func() { b.run(c) })
	context.AfterFunc(q.Context(), func() {
		_ = transport.Close()
		_ = packet.Close()
		beating.Wait()
	})
	return c, nil
}

// Answered tells whether a dial failed because of what the parent said of this side, and not because nothing was heard of it, or because it lets nobody
// in at the moment.
func Answered(err error) bool {
	var transport *quicgo.TransportError
	return errors.As(err, &transport) && transport.ErrorCode != quicgo.ConnectionRefused && (transport.Remote || transport.ErrorCode.IsCryptoError())
}
