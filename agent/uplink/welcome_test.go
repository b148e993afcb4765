package uplink

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// mute is a center that is about to be killed: connections to it stand and are acknowledged, and it
// lets nobody in.
func (c *center) mute(t *testing.T) net.Addr {
	t.Helper()
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	l, err := quic.Listen(quic.ListenConfig{Packet: packet, TLS: c.TLS(t), Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			if _, err := l.Accept(context.Background()); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
		packet.Close()
	})
	return packet.LocalAddr()
}

// begins has a site tell when a connection stands and its session begins.
func begins(cfg *Config) <-chan struct{} {
	begun := make(chan struct{}, 1000)
	cfg.Hello = func(context.Context) tunnel.Hello {
		begun <- struct{}{}
		return tunnel.Hello{}
	}
	return begun
}

func next(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("waited for %s", what)
	}
}

// aliveAgain waits for a session with the center after another one was killed, for less time than a
// parent that is heard has.
func (c *center) aliveAgain(t *testing.T, sessions int) {
	t.Helper()
	took := within(t, "a session", func() bool { return c.count() > sessions })
	t.Logf("a session %s after the center was killed", took)
	if took > welcomeTime*4/5 {
		t.Errorf("a session only after %s", took)
	}
}

// flight drops what the child sends once the parent's part of the handshake has passed, so that the
// child has its handshake finished and the parent has not heard so.
func flight() func(up bool, datagram []byte) bool {
	var passed atomic.Bool
	return func(up bool, datagram []byte) bool {
		if !up && datagram[0]&0xb0 == 0xa0 { // a long header of type Handshake
			passed.Store(true)
		}
		return up && passed.Load()
	}
}

// A center is killed at the moment when the site has its handshake finished, or when it has
// acknowledged the site's hello: what comes after it answers nothing that belongs to the old
// connection.
func TestCenterIsKilledBeforeTheWelcome(t *testing.T) {
	for name, drop := range map[string]func(bool, []byte) bool{"in the handshake": flight(), "after the hello": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCenter(t)
			relay := tunneltest.NewRelay(t, tunneltest.AnyPort(), c.mute(t)) // there is no TCP
			relay.Set(tunneltest.Faults{Drop: drop})
			var begun <-chan struct{}
			s := c.site(t, func(cfg *Config) {
				cfg.Parents = []string{"https://" + relay.Addr().String()}
				begun = begins(cfg)
			})
			next(t, "a connection", begun)
			if drop == nil {
				time.Sleep(100 * time.Millisecond) // so that the hello is acknowledged, which makes it harder to notice
			}
			relay.Lead(c.listen(t))
			relay.Set(tunneltest.Faults{})
			c.aliveAgain(t, 0)
			c.place(t, s)
		})
	}
}

// The same happens to a second session, which is to take the place of one whose way has died.
func TestCenterIsKilledBeforeTheWelcomeOfASecondSession(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	relay := tunneltest.NewRelay(t, tunneltest.AnyPort(), c.listen(t))
	var begun <-chan struct{}
	s := c.site(t, func(cfg *Config) {
		cfg.Parents = []string{"https://" + relay.Addr().String()}
		begun = begins(cfg)
	})
	next(t, "a connection", begun)
	within(t, "a session", func() bool { return c.count() == 1 })
	c.place(t, s)
	relay.Lead(c.mute(t))
	s.reported.Apply(
		1,
		store.Change{Key: storetest.Key(1), Hash: store.Hash{1}, Generation: 1},
	) // so that the site notices soon
	next(t, "a second connection", begun)
	relay.Lead(c.listen(t))
	c.aliveAgain(t, 1)
	c.place(t, s)
}

// A balancer, or a link, over which nothing comes any more once the TLS handshake is done. TCP goes
// on acknowledging what the site sends.
func TestNothingComesOverTCPAfterTheHandshake(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	l, err := net.Listen("tcp", tunneltest.AnyPort())
	must(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		listener := tunneltest.Port{Listener: l, Config: c.TLS(t)}
		var held []net.Conn
		for {
			conn, err := listener.Accept()
			if err != nil {
				break
			}
			held = append(held, conn) // nobody reads what comes
		}
		for _, conn := range held {
			conn.(interface{ NetConn() net.Conn }).NetConn().(*tcp.Meter).Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	b := newBalancer(t, c)
	b.lead(l.Addr().String())
	var begun <-chan struct{}
	s := c.site(t, func(cfg *Config) {
		cfg.Parents = []string{"https://" + b.address}
		begun = begins(cfg)
	})
	next(t, "a connection", begun)
	b.lead(c.address)
	c.aliveAgain(t, 0)
	c.place(t, s)
}

// A center that is heard and has much to do is dialled once, however long it takes to let the site
// in.
func TestBusyCenterIsDialledOnce(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	relay := tunneltest.NewRelay(t, tunneltest.AnyPort(), c.mute(t))
	var begun <-chan struct{}
	c.site(t, func(cfg *Config) {
		cfg.Parents = []string{"https://" + relay.Addr().String()}
		begun = begins(cfg)
	})
	next(t, "a connection", begun)
	select {
	case <-begun:
		t.Error("a second connection to a parent that answers")
	case <-time.After(4 * shortPatience):
	}
}
