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
	"skerry.dev/skerry/tunnel/mux"
)

// errNoAgent refuses a connection that is not an agent's.
var errNoAgent = errors.New("not an agent's connection")

// ListenConfig says where children are accepted.
type ListenConfig struct {
	// Listener supplies connections of type *tls.Conn over a *Meter, whose handshake is done. Their
	// TLS configuration must require and verify the children's certificates.
	Listener net.Listener
	// Data gets each data connection, and must not wait. Nil refuses all.
	Data func(*Data)
	// Resolve returns whom a verified certificate stands for; nil takes it at its word.
	Resolve func(tunnel.Identity) tunnel.Identity
	Log     *slog.Logger
}

// Listener accepts children.
type Listener struct{ cfg ListenConfig }

// Listen accepts children over TCP.
func Listen(cfg ListenConfig) *Listener { return &Listener{cfg} }

// Accept returns the next child whose certificate was verified and names a target. When ctx ends it
// closes the listener; its address is free when Accept has returned.
func (l *Listener) Accept(ctx context.Context) (tunnel.Conn, error) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		l.cfg.Listener.Close()
	})
	defer func() {
		if !stop() {
			<-closed
		}
	}()
	for {
		raw, err := l.cfg.Listener.Accept()
		if err != nil {
			return nil, err
		}
		secure, peer, err := proven(raw)
		if err != nil {
			l.cfg.Log.Warn("a connection that is no agent's was refused", "from", raw.RemoteAddr(), "err", err)
			raw.Close()
			continue
		}
		if l.cfg.Resolve != nil {
			peer = l.cfg.Resolve(peer)
		}
		if protocol := secure.ConnectionState().NegotiatedProtocol; protocol == tunnel.ALPN {
			return newConn(secure, mux.Options{Peer: peer}), nil
		}
		if l.cfg.Data == nil {
			_ = secure.Abort()
			continue
		}
		l.cfg.Data(&Data{secure, peer})
	}
}

// Close stops accepting. Connections that are open stay.
func (l *Listener) Close() error { return l.cfg.Listener.Close() }

// proven returns a connection that an agent has made, and who that is.
func proven(raw net.Conn) (carrier, tunnel.Identity, error) {
	secure, ok := raw.(*tls.Conn)
	if !ok {
		return carrier{}, tunnel.Identity{}, fmt.Errorf("%w: not TLS", errNoAgent)
	}
	state := secure.ConnectionState()
	spoken := state.NegotiatedProtocol == tunnel.ALPN || state.NegotiatedProtocol == tunnel.DataALPN
	if !state.HandshakeComplete || state.Version != tls.VersionTLS13 || !spoken || len(state.PeerCertificates) == 0 {
		return carrier{}, tunnel.Identity{}, errNoAgent
	}
	peer, err := enroll.IdentityOf(state.PeerCertificates[0])
	if err != nil {
		return carrier{}, tunnel.Identity{}, err
	}
	meter, ok := secure.NetConn().(*Meter)
	if !ok {
		return carrier{}, tunnel.Identity{}, fmt.Errorf("%w: not metered", errNoAgent)
	}
	return carrier{secure, meter}, peer, nil
}
