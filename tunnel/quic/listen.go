package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

// ListenConfig configures a Listener.
type ListenConfig struct {
	// Packet is the UDP socket. Its owner closes it after the listener.
	Packet net.PacketConn
	// TLS proves this side and must require and verify the children's certificates.
	TLS *tls.Config
	// ResetKey signs stateless resets. If it survives a restart, children notice at once that their
	// connection is gone.
	ResetKey *[32]byte
	// Limits of handshakes; the zero value means DefaultLimits.
	Limits Limits
	// Data says which data connections are let in; the zero value lets none in.
	Data DataConfig
	// Resolve returns whom a verified certificate stands for; nil takes it at its word.
	Resolve func(tunnel.Identity) tunnel.Identity
	// Metrics is where the listener registers what it counts; nil counts for nobody.
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Listener accepts children.
type Listener struct {
	transport  *quicgo.Transport
	quic       *quicgo.Listener
	shaking    *handshakes
	heartbeats *heartbeatServer
	data       *dataConns
	resolve    func(tunnel.Identity) tunnel.Identity
	stop       context.CancelFunc
	all        sync.WaitGroup
	log        *slog.Logger
}

// Listen starts to accept children over QUIC.
func Listen(cfg ListenConfig) (*Listener, error) {
	if c := cfg.TLS; c.ClientAuth != tls.RequireAndVerifyClientCert &&
		(c.ClientAuth != tls.RequireAnyClientCert || c.VerifyConnection == nil) {
		return nil, errors.New("listen: the TLS configuration does not require the children's certificates")
	}
	growBuffers(cfg.Packet, cfg.Log)
	if cfg.Limits == (Limits{}) {
		cfg.Limits = DefaultLimits
	}
	shaking, hearing := newHandshakes(cfg.Limits), newHeartbeatServer()
	transport := &quicgo.Transport{
		Conn:                beside(cfg.Packet, hearing.answer, nil),
		VerifySourceAddress: shaking.verify,
		ConnContext:         shaking.begin,
	}
	if cfg.ResetKey != nil {
		key := quicgo.StatelessResetKey(*cfg.ResetKey)
		transport.StatelessResetKey = &key
	}
	config := cfg.TLS.Clone()
	config.SessionTicketsDisabled = true // a child resumes no session: each proves itself anew
	data := newDataConns(cfg.Data)
	q, err := transport.Listen(config, data.parentConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), transport.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Listener{
		transport:  transport,
		quic:       q,
		shaking:    shaking,
		heartbeats: hearing,
		data:       data,
		resolve:    cfg.Resolve,
		stop:       stop,
		log:        cfg.Log,
	}
	l.all.Go(func() { hearing.run(ctx) })
	if cfg.Metrics != nil {
		if err := l.register(cfg.Metrics); err != nil {
			return nil, errors.Join(fmt.Errorf("listen: %w", err), l.Close())
		}
	}
	return l, nil
}

// Accept returns the next child whose certificate was verified and names a target.
func (l *Listener) Accept(ctx context.Context) (tunnel.Conn, error) {
	for {
		q, err := l.quic.Accept(ctx)
		if err != nil {
			return nil, err
		}
		l.shaking.done(q.Context())
		peer, err := enroll.IdentityOf(q.ConnectionState().TLS.PeerCertificates[0])
		if err != nil {
			l.log.Warn("a connection with a certificate that is no agent's was refused",
				"from", q.RemoteAddr(), "err", err)
			_ = q.CloseWithError(
				quicgo.ApplicationErrorCode(tunnel.CodeOf(tunnel.ErrRefused)),
				"not an agent's certificate",
			)
			continue
		}
		if l.resolve != nil {
			peer = l.resolve(peer)
		}
		if q.ConnectionState().TLS.NegotiatedProtocol == tunnel.DataALPN {
			l.data.take(q, peer)
			continue
		}
		c, err := newConn(q, peer)
		if err == nil {
			err = l.heartbeats.begin(c)
		}
		if err != nil {
			l.log.Warn("a connection was refused", "from", q.RemoteAddr(), "err", err)
			_ = c.Close(nil)
			continue
		}
		return c, nil
	}
}

// Close stops accepting and ends the connections that are open.
func (l *Listener) Close() error {
	l.stop()
	l.all.Wait()
	return errors.Join(l.quic.Close(), l.transport.Close())
}
