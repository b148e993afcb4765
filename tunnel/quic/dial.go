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
	// OnWake is called with each datagram that the parent sent outside of the connection, see Listener.Wake; nil ignores them.
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
	transport := &quicgo.Transport{Conn: socket}
	var listening sync.WaitGroup
	release := func() {
		_ = transport.Close()
		_ = socket.Close()
		listening.Wait()
	}
	q, err := transport.Dial(ctx, remote, cfg.TLS, childConfig(cfg.HandshakeIdle))
	if err != nil {
		release()
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	if cfg.OnWake != nil {
		listening.Go(func() { listenForWake(q.Context(), transport, cfg.OnWake) })
	}
	return newConn(q, tunnel.Identity{}, release), nil
}

// listenForWake hands over what is no QUIC packet until the connection ends.
func listenForWake(ctx context.Context, transport *quicgo.Transport, on func([]byte)) {
	buffer := make([]byte, maxWake)
	for {
		n, _, err := transport.ReadNonQUICPacket(ctx, buffer)
		if err != nil {
			return
		}
		on(buffer[:n])
	}
}

// Answered tells whether a dial failed because of what the parent said of this side, and not because nothing was heard of it, or because it lets nobody
// in at the moment.
func Answered(err error) bool {
	var transport *quicgo.TransportError
	return errors.As(err, &transport) && transport.ErrorCode != quicgo.ConnectionRefused && (transport.Remote || transport.ErrorCode.IsCryptoError())
}
