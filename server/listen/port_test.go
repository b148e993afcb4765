package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// center is a port with a web server and the sessions behind it.
type center struct {
	*tunneltest.Center
	address string
	agents  *tcp.Listener
	port    *Port
	users   *http.Client
}

func start(t testing.TB, limits Limits) *center {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &center{Center: tunneltest.NewCenter(t), address: l.Addr().String()}
	agents := c.TLS(t)
	users := agents.Clone()
	users.NextProtos, users.ClientAuth = []string{"h2", "http/1.1"}, tls.NoClientCert
	c.port = New(
		Config{
			Listener: l,
			API:      func() *tls.Config { return users },
			Agents:   func() *tls.Config { return agents },
			Limits:   limits,
			Log:      slog.New(slog.DiscardHandler),
		},
	)
	c.agents = tcp.Listen(tcp.ListenConfig{Listener: c.port.Agents(), Log: slog.New(slog.DiscardHandler)})
	server := &http.Server{
		TLSConfig: users,
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }),
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.Server.Pool()}, ForceAttemptHTTP2: true}
	c.users = &http.Client{Transport: transport, Timeout: time.Minute}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		if err := c.port.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() { server.Serve(c.port.API()) })
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		server.Close()
		all.Wait()
	})
	return c
}

func (c *center) get() (string, error) {
	r, err := c.users.Get("https://" + c.address)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

// Agents and users of one port do not see each other, and both get what they speak.
func TestAgentsAndUsersOfOnePort(t *testing.T) {
	c := start(t, Limits{})
	if got, err := c.get(); got != "HTTP/2.0" || err != nil {
		t.Errorf("a user got %q, %v", got, err)
	}
	child, err := tcp.Dial(t.Context(), c.address, tcp.DialConfig{TLS: c.Site(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close(nil)
	parent, err := c.agents.Accept(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close(nil)
	if parent.Peer().Target != tunneltest.Target || parent.Transport() != "tcp" {
		t.Errorf("%+v over %s", parent.Peer(), parent.Transport())
	}
	// An agent's protocol needs an agent's certificate, whatever else is offered.
	stranger := &tls.Config{RootCAs: c.Server.Pool(), NextProtos: []string{"h2", tunnel.ALPN}}
	if raw, err := tls.Dial("tcp", c.address, stranger); err == nil {
		raw.SetDeadline(time.Now().Add(time.Minute))
		if _, err := raw.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("a stranger was let in: %v", err)
		}
		raw.Close()
	}
}

// Who holds connections without a handshake loses the oldest of them, and takes no place of others.
func TestHalfOpenAreBounded(t *testing.T) {
	c := start(t, Limits{Total: 20, Source: 10, Stalled: time.Nanosecond})
	var held []net.Conn
	for range 50 {
		raw, err := net.Dial("tcp", c.address)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		held = append(held, raw)
	}
	for _, raw := range held[:40] {
		raw.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := raw.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Fatalf("an old one is held: %v", err)
		}
	}
	if got, err := c.get(); got != "HTTP/2.0" || err != nil {
		t.Errorf("an honest user got %q, %v", got, err)
	}
	if n, from := c.port.halfOpen.dropped(); n < 40 || from.String() != "127.0.0.1/32" {
		t.Errorf("%d dropped, the last from %s", n, from)
	}
}

// A source has so many connections to the kube API, and who closes one may open another. Agents behind
// the same address are not counted.
func TestConnectionsOfASourceAreBounded(t *testing.T) {
	c := start(t, Limits{})
	c.port.open.mu.Lock()
	c.port.open.most = 3
	c.port.open.mu.Unlock()
	dial := func() (*tls.Conn, error) {
		conn, err := tls.Dial("tcp", c.address, &tls.Config{RootCAs: c.Server.Pool(), NextProtos: []string{"http/1.1"}})
		if err != nil {
			return nil, err
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		_, err = conn.Read(make([]byte, 1))
		return conn, err
	}
	var open []*tls.Conn
	for range 3 {
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	if conn, err := dial(); err == nil || isTimeout(err) {
		t.Errorf("one more is let in: %v", err)
	} else if conn != nil {
		conn.Close()
	}
	if n, from := c.port.halfOpen.dropped(); n != 1 || from.String() != "127.0.0.1/32" {
		t.Errorf("%d dropped, the last from %s", n, from)
	}
	child, err := tcp.Dial(t.Context(), c.address, tcp.DialConfig{TLS: c.Site(t)})
	if err != nil {
		t.Fatalf("an agent: %v", err)
	}
	defer child.Close(nil)
	parent, err := c.agents.Accept(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close(nil)
	open[0].Close()
	for end := time.Now().Add(time.Minute); ; {
		conn, err := dial()
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("none is let in after one has closed: %v", err)
		}
	}
}

// closable is a connection with nobody behind it.
type closable struct {
	net.Conn
	closed bool
}

func (c *closable) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} }

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// Where no peer has kept this side waiting, a newcomer is dropped and nobody who may be nearly
// done.
func TestNobodyIsDroppedForANewcomer(t *testing.T) {
	for name, c := range map[string]struct {
		limits  Limits
		stalled bool // the one that waits for its peer
	}{
		"of its source, stalled": {Limits{Total: 20, Source: 3, Stalled: time.Minute}, true},
		"of all, stalled":        {Limits{Total: 3, Source: 20, Stalled: time.Minute}, true},
		"not stalled":            {Limits{Total: 20, Source: 3, Stalled: time.Hour}, false},
		"of all, not stalled":    {Limits{Total: 3, Source: 20, Stalled: time.Hour}, false},
	} {
		o := newHalfOpen(c.limits)
		conns := make([]closable, 3)
		var all []*handshake
		for i := range conns {
			h := o.add(&conns[i])
			if h == nil {
				t.Fatalf("%s: there is room, and it is dropped", name)
			}
			all = append(all, h)
		}
		all[1].waits.Store(time.Now().Add(-10 * time.Minute).UnixNano())
		h := o.add(&closable{})
		if conns[0].closed || conns[2].closed || conns[1].closed != c.stalled || (h != nil) != c.stalled {
			t.Errorf("%s: of those before these are dropped: %v; the newcomer is let in: %v", name, conns, h != nil)
		}
		if n, _ := o.dropped(); n != 1 {
			t.Errorf("%s: %d were dropped", name, n)
		}
		for _, h := range all {
			o.done(h)
		}
		if h != nil {
			o.done(h)
		}
		if o.all.Len() != 0 || len(o.sources) != 0 {
			t.Errorf("%s: %d are kept, of %d sources", name, o.all.Len(), len(o.sources))
		}
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// A center of one replica has no others to talk to.
func TestNoReplicas(t *testing.T) {
	c := start(t, Limits{})
	config := &tls.Config{RootCAs: c.Server.Pool(), NextProtos: []string{tunnel.ReplicaALPN}}
	if conn, err := tls.Dial("tcp", c.address, config); err == nil {
		conn.Close()
		t.Error("it talks to a replica")
	}
}
