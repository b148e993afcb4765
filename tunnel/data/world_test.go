package data_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) {
	os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true")
	leak.Main(m)
}

const patience = 2 * time.Minute

// handler is a function that serves a stream.
type handler func(context.Context, tunnel.Stream)

func (h handler) ServeStream(ctx context.Context, s tunnel.Stream) { h(ctx, s) }

// echo sends back what comes.
var echo = handler(func(_ context.Context, s tunnel.Stream) {
	_, _ = io.Copy(s, s)
	s.Close()
})

// world is a parent and a child that it can reach into. The child's session is this test.
type world struct {
	ctx     context.Context
	links   *data.Links
	budget  *mux.Budget
	serve   tunnel.StreamHandler // of the child
	who     tunnel.Identity
	run     string
	meter   *traffic.Meter // of the child
	options pipe.Options
	// dial returns a connection of the child on which nothing was said.
	dial func(ctx context.Context) (data.Bare, error)
	// ask is what the child does with a request; it may be replaced.
	ask func(tunnel.Number)

	running sync.WaitGroup
	mu      sync.Mutex
	numbers []tunnel.Number
	conns   []*mux.Conn // of the child
	ends    []error
}

// Peer implements data.Session.
func (w *world) Peer() tunnel.Identity { return w.who }

// Source implements data.Session.
func (w *world) Source() netip.Prefix { return tunnel.Source(netip.MustParseAddr("127.0.0.1")) }

// Instance implements data.Session.
func (w *world) Instance() string { return w.run }

// Ask implements data.Session.
func (w *world) Ask(c tunnel.Connect) bool {
	w.mu.Lock()
	w.numbers = append(w.numbers, c.Number)
	w.mu.Unlock()
	w.running.Go(func() { w.ask(c.Number) })
	return true
}

// connect is what a child does that is asked.
func (w *world) connect(n tunnel.Number) {
	if err := w.tryConnect(n); err != nil {
		w.links.NotConnected(w.who, tunnel.NotConnected{Number: n, Why: err.Error()})
	}
}

// tryConnect connects and serves the connection, or returns why there is none.
func (w *world) tryConnect(n tunnel.Number) error {
	cfg := data.Config{Budget: w.budget, Handler: w.serve, Meter: w.meter}
	bare, err := w.dial(w.ctx)
	var conn *mux.Conn
	if err == nil {
		conn, err = data.Dial(w.ctx, bare, n, cfg)
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.conns = append(w.conns, conn)
	w.mu.Unlock()
	err = data.Serve(w.ctx, conn, cfg)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, err)
	return nil
}

// first is the first connection of the child.
func (w *world) first() *mux.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns[0]
}

// ended are the ends of the child's connections.
func (w *world) ended() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ends
}

func (w *world) open(t testing.TB) tunnel.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	s, err := w.links.Open(ctx, w.who.Target, w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newWorld returns a world over one transport, which ends with the test.
func newWorld(t testing.TB, transport string, serve tunnel.StreamHandler) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &world{ctx: ctx, serve: serve, budget: mux.NewBudget(64 << 20), meter: traffic.New()}
	w.ask = w.connect
	w.links = data.NewLinks(
		data.LinksConfig{
			Config: data.Config{Budget: mux.NewBudget(256 << 20), Meter: traffic.New(), Metrics: data.NewMetrics()},
		},
	)
	switch transport {
	case "pipe":
		w.overPipe(pipe.Options{})
	case "tcp":
		w.overTCP(t)
	case "far":
		w.overQUIC(t, tunneltest.Faults{Delay: 50 * time.Millisecond})
	default:
		w.overQUIC(t, tunneltest.Faults{})
	}
	t.Cleanup(func() { // before the listeners end
		w.links.Close()
		cancel()
		w.running.Wait()
	})
	return w
}

// pipeBare is one end of a pipe.
type pipeBare struct {
	*pipe.Conn
	opens bool
}

func (b pipeBare) Carry(ctx context.Context) (mux.Carrier, error) {
	open := b.AcceptStream
	if b.opens {
		open = b.OpenStream
	}
	s, err := open(ctx)
	if err != nil {
		return nil, err
	}
	return mux.OverStream(b.Conn, s)
}

func (w *world) overPipe(o pipe.Options) {
	w.options = o
	w.who = tunnel.Identity{Target: tunneltest.Target, Key: "00"}
	w.dial = w.as(w.who)
}

// as dials over a pipe as somebody.
func (w *world) as(who tunnel.Identity) func(context.Context) (data.Bare, error) {
	o := w.options
	o.Child = who
	return func(context.Context) (data.Bare, error) {
		child, parent := pipe.New(o)
		w.links.Take(w.ctx, pipeBare{parent, false})
		return pipeBare{child, true}, nil
	}
}

// tls returns the configuration of the center's sessions, as package sessions has it.
func (w *world) tls(t testing.TB, c *tunneltest.Center) *tls.Config {
	config := c.TLS(t)
	config.NextProtos = append(config.NextProtos, tunnel.DataALPN)
	config.VerifyConnection = func(s tls.ConnectionState) error {
		who, err := enroll.IdentityOf(s.PeerCertificates[0])
		if err == nil && s.NegotiatedProtocol == tunnel.DataALPN && !w.links.Expects(who) {
			err = tunnel.ErrUnasked
		}
		return err
	}
	return config
}

// identityOf is who a child's configuration proves.
func identityOf(t testing.TB, config *tls.Config) tunnel.Identity {
	t.Helper()
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	who, err := enroll.IdentityOf(leaf)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func (w *world) overTCP(t testing.TB) {
	t.Helper()
	c := tunneltest.NewCenter(t)
	site := c.Site(t)
	w.who = identityOf(t, site)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := tcp.Listen(
		tcp.ListenConfig{
			Listener: tunneltest.Port{Listener: l, Config: w.tls(t, c)},
			Log:      slog.New(slog.DiscardHandler),
			Data:     func(d *tcp.Data) { w.links.Take(w.ctx, d) },
		},
	)
	w.running.Go(func() { _, _ = listener.Accept(w.ctx) })
	w.dial = func(ctx context.Context) (data.Bare, error) {
		d, err := tcp.DialData(ctx, l.Addr().String(), tcp.DialConfig{TLS: site})
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// overQUIC dials over the socket of a session, through a network with faults.
func (w *world) overQUIC(t testing.TB, f tunneltest.Faults) *tunneltest.Relay {
	t.Helper()
	c := tunneltest.NewCenter(t)
	site := c.Site(t)
	packet, err := net.ListenPacket("udp", tunneltest.AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := quic.Listen(quic.ListenConfig{Packet: packet, TLS: w.tls(t, c), Log: slog.New(slog.DiscardHandler),
		Data: quic.DataConfig{
			Expects: w.links.ExpectsFrom,
			Take:    func(d *quic.Data) { w.links.Take(w.ctx, d) },
			Budget:  mux.NewBudget(256 << 20),
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		listener.Close()
		packet.Close()
	})
	to, relay := packet.LocalAddr(), (*tunneltest.Relay)(nil)
	if f.Delay > 0 || f.Loss > 0 {
		relay = tunneltest.NewRelay(t, "127.0.0.1:0", to)
		relay.Set(f)
		to = relay.Addr()
	}
	accepted := make(chan tunnel.Conn, 9)
	w.running.Go(func() {
		for {
			c, err := listener.Accept(w.ctx)
			if err != nil {
				return
			}
			accepted <- c
		}
	})
	session, err := quic.Dial(w.ctx, to.String(), quic.DialConfig{TLS: site, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.who = (<-accepted).Peer()
	t.Cleanup(func() { session.Close(nil) })
	w.dial = func(ctx context.Context) (data.Bare, error) {
		d, err := quic.DialData(ctx, session, site, w.budget)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	return relay
}

// within waits for a condition.
func within(t testing.TB, what string, is func() bool) {
	t.Helper()
	storetest.Eventually(t, what, is)
}

// says sends a text and reads until the end.
func says(s tunnel.Stream, text string) error {
	defer s.Cancel()
	written := make(chan error, 1)
	go func() {
		_, err := s.Write([]byte(text))
		written <- errors.Join(err, s.Close())
	}()
	got, err := io.ReadAll(s)
	if err == nil && string(got) != text {
		err = fmt.Errorf("%d bytes of %d came back", len(got), len(text))
	}
	if err != nil {
		s.Cancel()
	}
	return errors.Join(err, <-written)
}
