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

// DialConfig configures a dial of a parent.
type DialConfig struct {
	// TLS proves this side and verifies the parent; see enroll.Credentials.
	TLS *tls.Config
	// Patience is how long nothing at all may come from the parent; 0 means 6 s. A parent that has
	// answered may then be silent for 6 s while the connection is made. It is there, and a new dial
	// would waste its work. The whole takes at most twice as long.
	Patience time.Duration
	// OnAnswer is called for each QUIC packet, by the goroutine that reads the socket. It must not
	// wait. It may be nil.
	OnAnswer func()
	// OnWake is called for each wake-up of the parent beside the connection, see Listener.Wake, by
	// the goroutine that reads the socket. It must not wait. It may be nil.
	OnWake func(datagram []byte)
	// OnHeartbeat is called with the round trip of each heartbeat beside the connection that was
	// answered, by the goroutine that reads the socket. It must not wait. It may be nil.
	OnHeartbeat func(took time.Duration)
	Log         *slog.Logger
}

// Dial opens a connection to a parent at HOST:PORT. The connection has a socket of its own, which
// it closes at its end.
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

// dialOver dials over a socket, which ends with the last connection over it.
func dialOver(ctx context.Context, packet net.PacketConn, remote net.Addr, cfg DialConfig) (*conn, error) {
	b := newHeartbeat(cfg, func(datagram []byte) {
		_, _ = packet.WriteTo(datagram, remote) // lost like any other when it fails
	})
	ctx, answered, stop := withPatience(ctx, cfg.Patience)
	defer stop()
	transport := &quicgo.Transport{Conn: beside(packet, b.receive, func() {
		answered()
		if cfg.OnAnswer != nil {
			cfg.OnAnswer()
		}
	})}
	q, err := transport.Dial(ctx, remote, cfg.TLS, childConfig())
	if err != nil {
		return nil, errors.Join(err, transport.Close())
	}
	c, err := newConn(q, tunnel.Identity{})
	if err != nil {
		return nil, errors.Join(err, c.Close(nil), transport.Close())
	}
	c.asks = make(chan struct{}, 1)
	c.socket = &ownSocket{transport: transport, packet: packet, remote: remote, users: 1}
	var beating sync.WaitGroup
	beating.Go(func() { b.run(c) })
	context.AfterFunc(q.Context(), func() {
		c.socket.leave()
		beating.Wait()
	})
	return c, nil
}

// ownSocket is a child's socket. It ends with the last connection over it.
type ownSocket struct {
	transport *quicgo.Transport
	packet    net.PacketConn
	remote    net.Addr

	mu    sync.Mutex
	users int
}

// join keeps the socket for one connection more. It reports false when the socket has ended.
func (s *ownSocket) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return false
	}
	s.users++
	return true
}

func (s *ownSocket) leave() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		_ = s.transport.Close()
		_ = s.packet.Close()
	}
}

// errNobody ends a dial.
var errNobody = errors.New("nobody answered")

// withPatience returns a context that ends when nothing was answered for so long.
func withPatience(ctx context.Context, patience time.Duration) (_ context.Context, answered, stop func()) {
	if patience <= 0 || patience >= childHandshakeIdle { // QUIC ends it itself
		return ctx, func() {}, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(patience, func() { cancel(fmt.Errorf("%w within %s", errNobody, patience)) })
	return ctx, func() { late.Stop() }, func() {
		late.Stop()
		cancel(nil)
	}
}

// Crowded reports whether a dial failed because the parent admits nobody at the moment.
func Crowded(err error) bool {
	var transport *quicgo.TransportError
	return errors.As(err, &transport) && transport.ErrorCode == quicgo.ConnectionRefused
}

// Answered reports whether a dial failed because of the parent's answer about this side. It is
// false if nothing was heard, and if the parent admits nobody at the moment.
func Answered(err error) bool {
	var transport *quicgo.TransportError
	return errors.As(err, &transport) && !Crowded(err) && (transport.Remote || transport.ErrorCode.IsCryptoError())
}
