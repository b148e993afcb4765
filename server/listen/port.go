package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/tcp"
)

// Times of a connection before it is handed on.
const (
	handshakeTime = 10 * time.Second // for the whole handshake, however slowly somebody speaks
	handTime      = 5 * time.Second  // until a listener has taken the connection
)

// Config says what the port serves.
type Config struct {
	// Listener is plain TCP. The port closes it.
	Listener net.Listener
	// API and Agents are the TLS configurations of the kube API and of the sessions. They are asked
	// for at each handshake.
	API, Agents func() *tls.Config
	// Replicas is that of the center's other replicas; nil for a center of one.
	Replicas func() *tls.Config
	// Limits of connections whose handshake is not done; the zero value means DefaultLimits.
	Limits Limits
	Log    *slog.Logger
}

// Port accepts connections and hands them on.
type Port struct {
	cfg                   Config
	api, agents, replicas *listener
	halfOpen              *halfOpen
	open                  *openConns
}

// New returns a port that is still closed; Run opens it.
func New(cfg Config) *Port {
	if cfg.Limits == (Limits{}) {
		cfg.Limits = DefaultLimits
	}
	addr := cfg.Listener.Addr()
	return &Port{
		cfg: cfg, halfOpen: newHalfOpen(cfg.Limits), open: &openConns{most: openLimit, by: map[netip.Prefix]int{}},
		api: newListener(addr), agents: newListener(addr), replicas: newListener(addr),
	}
}

// API is where the kube API accepts its connections: *tls.Conn whose handshake is done.
func (p *Port) API() net.Listener { return p.api }

// Agents is where the sessions accepts its connections: *tls.Conn over a *tcp.Meter whose handshake
// is done.
func (p *Port) Agents() net.Listener { return p.agents }

// Replicas is where the center's other replicas are accepted: *tls.Conn whose handshake is done.
func (p *Port) Replicas() net.Listener { return p.replicas }

// Run accepts until ctx ends. Connections that were handed on are their takers'.
func (p *Port) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		p.cfg.Listener.Close()
		p.api.Close()
		p.agents.Close()
		p.replicas.Close()
	})
	defer stop()
	var shaking sync.WaitGroup
	defer shaking.Wait()
	shaking.Go(func() { p.tellFloods(ctx) })
	for {
		raw, err := p.cfg.Listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept: %w", err)
		case err != nil: // no file descriptor is left, or the like: it passes
			p.cfg.Log.Warn("no connection can be accepted now", "err", err)
			ondemand.Pause(ctx, 100*time.Millisecond)
		default:
			h := p.halfOpen.add(raw)
			if h == nil {
				raw.Close()
				continue
			}
			shaking.Go(func() { p.shake(ctx, h, raw) })
		}
	}
}

// shake does one handshake and hands the connection on.
func (p *Port) shake(ctx context.Context, h *handshake, raw net.Conn) {
	defer p.halfOpen.done(h)
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	meter := tcp.NewMeter(waiting{raw, h})
	secure := tls.Server(meter, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: p.configFor})
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		p.cfg.Log.Debug("a handshake failed", "from", raw.RemoteAddr(), "err", err)
		return
	}
	p.halfOpen.done(h)
	meter.Conn = raw
	var to *listener
	switch secure.ConnectionState().NegotiatedProtocol {
	case tunnel.ALPN, tunnel.DataALPN:
		to = p.agents
	case tunnel.ReplicaALPN:
		to = p.replicas
	default:
		to = p.api
		counted := p.open.add(raw)
		if counted == nil {
			p.halfOpen.drop(h.source)
			raw.Close()
			return
		}
		meter.Conn = counted
	}
	if !to.hand(ctx, secure) {
		meter.Conn.Close()
	}
}

// configFor tells agents, replicas and users apart by what they say they speak. Who speaks several
// is the first of these.
func (p *Port) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if slices.Contains(hello.SupportedProtos, tunnel.ALPN) || slices.Contains(hello.SupportedProtos, tunnel.DataALPN) {
		return chosen(p.cfg.Agents(), hello)
	}
	if p.cfg.Replicas != nil && slices.Contains(hello.SupportedProtos, tunnel.ReplicaALPN) {
		return chosen(p.cfg.Replicas(), hello)
	}
	return chosen(p.cfg.API(), hello)
}

// chosen is what a configuration that has several chooses.
func chosen(c *tls.Config, hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if c.GetConfigForClient == nil {
		return c, nil
	}
	return c.GetConfigForClient(hello)
}

// tellFloods logs, at most once a minute, that connections were dropped before their handshake was
// done.
func (p *Port) tellFloods(ctx context.Context) {
	for ctx.Err() == nil {
		ondemand.Pause(ctx, time.Minute)
		if n, from := p.halfOpen.dropped(); n > 0 {
			p.cfg.Log.Warn("connections were dropped because too many were open, or shaking hands",
				"dropped", n, "lastFrom", from)
		}
	}
}
