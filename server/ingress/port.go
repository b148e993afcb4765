package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/ondemand"
)

const (
	// firstTime is how long a caller may take for the head of a request, and for the whole of a handshake.
	firstTime = 10 * time.Second
	// keptTime is how long a connection is kept that asks nothing.
	keptTime = 75 * time.Second
	// mostHeader bounds the head of a request, in bytes.
	mostHeader = 64 << 10
	// mostStreams is how many requests one HTTP/2 connection may have open.
	mostStreams = 100
)

// How many may be open: all, of one space, and of one source of callers (tunnel.SourceOf). A space has a part of all at
// the most, so that slow callers of one keep out no callers of another.
const (
	mostConnections         = 8192
	mostConnectionsOfSpace  = 4096
	mostConnectionsOfSource = 1024
	mostRequests            = 4096
	mostRequestsOfSpace     = 1024
)

// ports are where callers come in.
type ports struct {
	cfg    Config
	at     []net.Listener
	table  *atomic.Pointer[Table]
	proxy  *proxy
	tls    *tls.Config // of all, so that sessions are resumed
	spaces exchange.Seats

	mu      sync.Mutex
	sources map[netip.Prefix]int
	open    map[*caller]struct{}
	conns   sync.WaitGroup
	handed  chan net.Conn
	closed  chan struct{}
}

// servePorts serves callers until ctx ends or a listener fails.
func servePorts(ctx context.Context, cfg Config, at []net.Listener, table *atomic.Pointer[Table], to *proxy) error {
	p := &ports{cfg: cfg, at: at, table: table, proxy: to, sources: map[netip.Prefix]int{}, open: map[*caller]struct{}{},
		spaces: exchange.Seats{Most: mostConnections, MostOfSpace: mostConnectionsOfSpace},
		handed: make(chan net.Conn), closed: make(chan struct{})}
	p.tls = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: p.certificate}
	server := &http.Server{
		Handler: to, ReadHeaderTimeout: firstTime, IdleTimeout: keptTime, MaxHeaderBytes: mostHeader, ErrorLog: quiet,
		TLSConfig:   p.tls.Clone(), // it reads from this that HTTP/2 is spoken
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: mostStreams},
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, is := c.(*tls.Conn); is {
				c = t.NetConn()
			}
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	var parts sync.WaitGroup
	failed := make(chan error, len(at)+1)
	parts.Go(func() { failed <- server.Serve(handedOver{p}) })
	for _, l := range at {
		parts.Go(func() { failed <- p.accept(ctx, l) })
	}
	cfg.Log.Info("callers from outside are served", "at", addresses(at), "status", cfg.Address)
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	for _, l := range at {
		l.Close()
	}
	close(p.closed)
	server.Close() // the sessions of sites end now, too
	parts.Wait()   // nobody is let in any more
	p.end()
	p.conns.Wait()
	to.close()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func addresses(of []net.Listener) string {
	var all []string
	for _, l := range of {
		all = append(all, l.Addr().String())
	}
	return strings.Join(all, " ")
}

// accept takes the callers of a listener.
func (p *ports) accept(ctx context.Context, l net.Listener) error {
	for {
		switch c, err := l.Accept(); {
		case err == nil:
			p.take(ctx, c)
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("serve callers from outside: %w", err)
		default:
			p.cfg.Log.Warn("callers from outside cannot be accepted; trying again", "err", err)
			ondemand.Pause(ctx, 100*time.Millisecond) // there may be file descriptors again
		}
	}
}

// take lets a connection in, where there is room.
func (p *ports) take(ctx context.Context, c net.Conn) {
	is := &caller{Conn: c, ports: p, from: c.RemoteAddr()}
	is.balanced = p.cfg.balances(is.from)
	p.mu.Lock()
	limit := ""
	switch {
	case len(p.open) >= mostConnections:
		limit = "total"
	case !is.balanced && !p.countLocked(is): // a balancer says first who calls
		limit = "source"
	default:
		p.open[is] = struct{}{}
		p.conns.Add(1)
	}
	p.mu.Unlock()
	if limit != "" {
		p.cfg.Metrics.refused.WithLabelValues(limit).Inc()
		c.Close()
		return
	}
	p.cfg.Metrics.open.Inc()
	go p.begin(ctx, is)
}

// countLocked counts a connection for its source. It reports false where that has too many.
func (p *ports) countLocked(c *caller) bool {
	source := tunnel.SourceOf(c.from)
	if p.sources[source] >= mostConnectionsOfSource {
		return false
	}
	if source.IsValid() {
		c.source = source
		p.sources[source]++
	}
	return true
}

// end closes all connections.
func (p *ports) end() {
	p.mu.Lock()
	var all []*caller
	for c := range p.open {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

// begin finds out what a connection is for, and hands it on.
func (p *ports) begin(ctx context.Context, c *caller) {
	_ = c.SetReadDeadline(time.Now().Add(firstTime)) // a connection that has ended tells so when it is read
	if c.balanced && !p.introduced(c) {
		c.Close()
		return
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err != nil {
		c.Close()
		return
	}
	if c.unread(first); first[0] != recordHandshake {
		p.hand(c, c)
		return
	}
	hello, name, err := readHello(c)
	if err != nil {
		c.Close()
		return
	}
	c.unread(hello)
	h := p.table.Load().find(hostOf(name))
	if h != nil && !c.claim(h.space) {
		p.cfg.Metrics.refused.WithLabelValues("space").Inc()
		c.Close()
		return
	}
	if h != nil && h.passthrough {
		p.through(ctx, c, h)
		return
	}
	p.hand(c, tls.Server(c, p.tls))
}

// certificate returns that of a host, nil for none: "unrecognized name" is what the caller hears then.
func (p *ports) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if h := p.table.Load().find(hostOf(hello.ServerName)); h != nil {
		return h.certificate, nil
	}
	return nil, nil
}

// hand hands a connection to the server.
func (p *ports) hand(c *caller, as net.Conn) {
	_ = c.SetReadDeadline(time.Time{}) // the server has its own
	select {
	case p.handed <- as:
	case <-p.closed:
		c.Close()
	}
}

// through passes TLS on as it is, to what the host's path / leads to.
func (p *ports) through(ctx context.Context, c *caller, h *host) {
	defer c.Close()
	_ = c.SetReadDeadline(time.Time{})
	r := h.find("/")
	if r == nil || r.to.UID == "" {
		return
	}
	done := p.proxy.requests.Take(h.space)
	if done == nil {
		p.cfg.Metrics.refused.WithLabelValues("space").Inc()
		return
	}
	defer done()
	at, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	conn, err := p.proxy.backend(r.to).connect(ctx, at.Addr().Unmap().WithZone(""))
	if err != nil {
		p.cfg.Log.Debug("a connection from outside is not answered", "service", r.to.Service.String(), "err", err)
		return
	}
	to := c.also(conn)
	defer to.Close()
	exchange.Pass(c, to)
}

// handedOver is the listener of the server.
type handedOver struct{ p *ports }

// Accept implements net.Listener.
func (l handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-l.p.handed:
		return c, nil
	case <-l.p.closed:
		return nil, http.ErrServerClosed
	}
}

// Close implements net.Listener.
func (handedOver) Close() error { return nil }

// Addr implements net.Listener.
func (l handedOver) Addr() net.Addr { return l.p.at[0].Addr() }
