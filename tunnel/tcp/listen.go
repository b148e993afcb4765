package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

// errNoAgent refuses a connection that is not an agent's.
var errNoAgent = errors.New("not an agent's connection")

// ListenConfig says where children are accepted.
type ListenConfig struct {
	// Listener hands in connections of type *tls.Conn over a *Meter, whose handshake is done. Their TLS configuration must require and
	// verify the children's certificates.
	Listener net.Listener
	Log      *slog.Logger
}

// Listener accepts children.
type Listener struct{ cfg ListenConfig }

// Listen accepts children over TCP.
func Listen(cfg ListenConfig) *Listener { return &Listener{cfg} }

// Accept returns the next child whose certificate was verified and names a target. When ctx ends it closes the listener.
func (l *Listener) Accept(ctx context.Context) (tunnel.Conn, error) {
	stop := context.AfterFunc(ctx, func() { l.cfg.Listener.Close() })
	defer stop()
	for {
		raw, err := l.cfg.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, err := server(raw)
		if err != nil {
			l.cfg.Log.Warn("a connection that is no agent's was refused", "from", raw.RemoteAddr(), "err", err)
			raw.Close()
			continue
		}
		return c, nil
	}
}

// Close stops accepting. Connections that are open stay.
func (l *Listener) Close() error { return l.cfg.Listener.Close() }

func server(raw net.Conn) (tunnel.Conn, error) {
	secure, ok := raw.(*tls.Conn)
	if !ok {
		return nil, fmt.Errorf("%w: not TLS", errNoAgent)
	}
	state := secure.ConnectionState()
	if !state.HandshakeComplete || state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != tunnel.ALPN || len(state.PeerCertificates) == 0 {
		return nil, errNoAgent
	}
	peer, err := enroll.IdentityOf(state.PeerCertificates[0])
	if err != nil {
		return nil, err
	}
	meter, ok := secure.NetConn().(*Meter)
	if !ok {
		return nil, fmt.Errorf("%w: not metered", errNoAgent)
	}
	return newConn(carrier{secure, meter}, peer, false, 0), nil
}
