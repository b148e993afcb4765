package uplink

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// center lets its site in over QUIC, behind a relay with faults, and over TCP, on one port. The
// newest session wins.
type center struct {
	*tunneltest.Center
	relay   *tunneltest.Relay
	address string
	feed    *store.Feed
	inbox   *storetest.Memory
	refuse  *tunnel.Refused // everybody, while it is set
	wake    []byte
	quic    *quic.Listener
	links   *data.Links
	upward  tunnel.StreamHandler // serves what a site opens

	mu       sync.Mutex
	current  context.CancelCauseFunc
	over     chan struct{}
	way      string // the transport of the session
	dialled  string // what the site was told to dial
	from     net.Addr
	sessions []string // transports, in order
	lost     int      // sessions that ended before another one came
	asking   *asking  // the session; nil while there is none
	revision int64
}

func newCenter(t *testing.T) *center {
	t.Helper()
	c := &center{Center: tunneltest.NewCenter(t), inbox: storetest.NewMemory()}
	c.inbox.AcceptNewIncarnation = true
	c.feed = store.NewFeed(store.NewIncarnation(), 0, func(_ context.Context, k store.Key) ([]byte, int64, error) {
		return []byte(`{"name":"` + k.Name + `"}`), 1, nil
	})
	c.links = data.NewLinks(data.LinksConfig{Serve: func(tunnel.Identity) tunnel.StreamHandler { return c.upward }})
	t.Cleanup(c.links.Close)
	l := tunneltest.ListenWhereUDPIsFree(t)
	c.address = l.Addr().String()
	c.relay = tunneltest.NewRelay(t, c.address, c.listen(t))
	overTCP := tcp.Listen(
		tcp.ListenConfig{Listener: tunneltest.Port{Listener: l, Config: c.tls(t)}, Log: slog.New(slog.DiscardHandler),
			Data: func(d *tcp.Data) { c.links.Take(context.Background(), d) }},
	)
	c.accept(t, overTCP.Accept)
	return c
}

// listen opens a listener for QUIC, which knows nothing of the connections of those before it, and
// returns where it is.
func (c *center) listen(t *testing.T) net.Addr {
	t.Helper()
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { packet.Close() })
	c.quic, err = quic.Listen(quic.ListenConfig{Packet: packet, TLS: c.tls(t), Log: slog.New(slog.DiscardHandler),
		Data: quic.DataConfig{
			Expects: c.links.ExpectsFrom,
			Take:    func(d *quic.Data) { c.links.Take(context.Background(), d) },
		}})
	must(t, err)
	listener := c.quic
	t.Cleanup(func() { listener.Close() })
	c.accept(t, c.quic.Accept)
	return packet.LocalAddr()
}

// accept serves those who come one way until the test ends.
func (c *center) accept(t *testing.T, next func(context.Context) (tunnel.Conn, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := next(ctx)
			if err != nil {
				return
			}
			all.Go(func() { c.serve(ctx, conn) })
		}
	})
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
}

func (c *center) serve(ctx context.Context, conn tunnel.Conn) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	defer close(over)
	orders := tunnel.NewCommands(8)
	cfg := tunneltest.Parent{
		OnWanted:       func(w tunnel.Wanted) { c.links.Bring(&asking{conn, orders}, w) },
		OnNotConnected: func(n tunnel.NotConnected) { c.links.NotConnected(conn.Peer(), n) },
		OnAdmit: func(_ context.Context, _ tunnel.Identity, hello tunnel.Hello) (tunnel.Admission, error) {
			c.mu.Lock()
			c.dialled = hello.Dialled
			old, ended, refuse := c.current, c.over, c.refuse
			if refuse != nil {
				c.mu.Unlock()
				return tunnel.Admission{}, refuse
			}
			c.current, c.over, c.way, c.from = cancel, over, conn.Transport(), conn.RemoteAddr()
			c.asking = &asking{conn, orders}
			c.sessions = append(c.sessions, c.way)
			c.mu.Unlock()
			if old != nil {
				old(tunnel.ErrReplaced)
				<-ended
			}
			return tunnel.Admission{Feed: c.feed, Inbox: c.inbox, Welcome: tunnel.Welcome{Wake: c.wake}}, nil
		},
	}.Config()
	cfg.Commands = orders
	_ = tunnel.ServeParent(ctx, conn, cfg)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == over {
		c.lost++
		c.current, c.over, c.way, c.asking = nil, nil, "", nil
	}
}

func (c *center) transport() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.way
}

func (c *center) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// place makes a change and returns how long it took until the site has it.
func (c *center) place(t *testing.T, s *site) time.Duration {
	t.Helper()
	c.change()
	began := time.Now()
	within(t, "a change", func() bool { return s.desired.Position() == c.feed.Head() })
	return time.Since(began)
}
