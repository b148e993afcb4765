package uplink

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/proxy"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// asking is a session that a data connection is asked for on.
type asking struct {
	conn   tunnel.Conn
	orders *tunnel.Commands
}

func (a *asking) Peer() tunnel.Identity     { return a.conn.Peer() }
func (a *asking) Source() netip.Prefix      { return tunnel.SourceOf(a.conn.RemoteAddr()) }
func (a *asking) Instance() string          { return "" }
func (a *asking) Ask(c tunnel.Connect) bool { return a.orders.Put(c) }

// tls lets data connections in that were asked for.
func (c *center) tls(t testing.TB) *tls.Config {
	config := c.TLS(t)
	config.NextProtos = append(config.NextProtos, tunnel.DataALPN)
	config.VerifyConnection = func(s tls.ConnectionState) error {
		who, err := enroll.IdentityOf(s.PeerCertificates[0])
		if err == nil && s.NegotiatedProtocol == tunnel.DataALPN && !c.links.Expects(who) {
			err = tunnel.ErrUnasked
		}
		return err
	}
	return config
}

// open opens a stream into the site.
func (c *center) open(ctx context.Context) (tunnel.Stream, error) {
	c.mu.Lock()
	session := c.asking
	c.mu.Unlock()
	if session == nil {
		return c.links.Open(ctx, "paris", nil)
	}
	return c.links.Open(ctx, "paris", session)
}

// transports are those of the data connections that stand.
func (c *center) transports() (out []string) {
	for _, l := range c.links.All() {
		out = append(out, l.Transport())
	}
	return out
}

// echo sends back what comes.
type echo struct{}

func (echo) ServeStream(_ context.Context, s tunnel.Stream) {
	_, _ = io.Copy(s, s)
	s.Close()
}

func streams(cfg *Config) { cfg.Streams = echo{} }

// exchange says one byte on a stream, and hears it.
func exchange(s tunnel.Stream) error {
	_ = s.SetDeadline(time.Now().Add(time.Minute))
	if _, err := s.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(s, make([]byte, 1))
	return err
}

func (c *center) mustOpen(t *testing.T) tunnel.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := c.open(ctx)
	must(t, err)
	t.Cleanup(s.Cancel)
	must(t, exchange(s))
	return s
}

// A data connection comes over the transport of the session, and shares its UDP socket.
func TestDataConnection(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"quic", "tcp"} {
		c := newCenter(t)
		c.relay.Set(tunneltest.Faults{Cut: over == "tcp"})
		c.site(t, streams)
		within(t, "a session", func() bool { return c.transport() == over })
		c.mustOpen(t)
		if got := c.transports(); len(got) != 1 || got[0] != over {
			t.Errorf("over %v, want %s", got, over)
		}
		if c.count() != 1 {
			t.Errorf("%d sessions", c.count())
		}
	}
}

// QUIC that does not get through for the data connection is no reason to have none.
func TestDataConnectionFallsBackToTCP(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.site(t, streams)
	within(t, "a session", func() bool { return c.transport() == "quic" })
	c.relay.Set(tunneltest.Faults{Drop: func(up bool, datagram []byte) bool { // new connections
		return up && len(datagram) > 0 && datagram[0]&0xf0 == 0xc0
	}})
	c.mustOpen(t)
	if got := c.transports(); len(got) != 1 || got[0] != "tcp" {
		t.Errorf("over %v", got)
	}
}

// A stream goes on while the session is replaced, over QUIC and over TCP, and no other connection
// is made for it.
func TestDataConnectionOutlivesTheSession(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	s := c.site(t, streams)
	within(t, "a session", func() bool { return c.transport() == "quic" })
	stream := c.mustOpen(t)
	for i := range 3 {
		c.mu.Lock()
		c.current(tunnel.ErrDraining)
		c.mu.Unlock()
		within(t, "another session", func() bool { return c.count() == i+2 && c.transport() != "" })
		c.place(t, s)
		must(t, exchange(stream))
	}
	c.mustOpen(t)
	if n := len(c.transports()); n != 1 {
		t.Errorf("%d data connections", n)
	}
}

// A site that serves no streams says so at once.
func TestSiteWithoutStreams(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.site(t)
	within(t, "a session", func() bool { return c.transport() != "" })
	if _, err := c.open(t.Context()); err == nil || !strings.Contains(err.Error(), "serves no streams") {
		t.Errorf("told %v", err)
	}
}

// An uplink that ends takes its streams along.
func TestStreamsEndWithTheUplink(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	s := c.site(t, streams)
	within(t, "a session", func() bool { return c.transport() != "" })
	stream := c.mustOpen(t)
	c.mu.Lock()
	c.current(tunnel.ErrRemoved) // which ends the site's Run
	c.mu.Unlock()
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		t.Fatal("the uplink goes on")
	}
	if _, err := stream.Read(make([]byte, 1)); err == nil {
		t.Error("a stream goes on without its uplink")
	}
	within(t, "the center without the session", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.asking == nil
	})
	if _, err := c.open(t.Context()); !errors.Is(err, data.ErrNoSession) {
		t.Errorf("opened: %v", err)
	}
}

// connectProxy is an HTTP proxy that passes CONNECT on to one place, and counts.
type connectProxy struct {
	to     string
	mu     sync.Mutex
	passed int
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.passed++
	p.mu.Unlock()
	if r.Method != http.MethodConnect || !strings.HasPrefix(r.Host, "center.example:") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer to.Close()
	from, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(to, buffered)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// A data connection goes through the proxy that the session goes through.
func TestDataConnectionThroughAProxy(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	way := &connectProxy{to: c.address}
	server := &http.Server{Handler: way}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	dialer, err := proxy.New(proxy.Config{URL: "http://" + l.Addr().String()})
	must(t, err)
	c.site(t, streams, func(cfg *Config) {
		_, port, _ := net.SplitHostPort(c.address)
		cfg.Proxy, cfg.Parents = dialer, []string{"https://center.example:" + port} // loopback is never proxied
	})
	within(t, "a session", func() bool { return c.transport() == "tcp" })
	c.mustOpen(t)
	way.mu.Lock()
	defer way.mu.Unlock()
	if way.passed != 2 {
		t.Errorf("%d connections went through the proxy, want the session's and the data connection's", way.passed)
	}
}
