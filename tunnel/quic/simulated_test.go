package quic_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"

	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// world is a center and its sites in simulated time, with a network between them that a test can
// spoil.
type world struct {
	t        *testing.T
	ctx      context.Context
	center   *tunneltest.Center
	at       *net.UDPAddr // the center
	packet   *simnet.SimConn
	listener *quic.Listener
	sockets  []*simnet.SimConn // of the sites
	served   sync.WaitGroup
	beat     func(took time.Duration) // of the sites
	class    delta.Class              // of the links; a metered one has few heartbeats beside QUIC's packets

	simnet.PerfectRouter
	mu     sync.Mutex
	drop   func(simnet.Packet) bool
	moved  map[string]*net.UDPAddr // where a site seems to be, for the center
	behind map[string]*net.UDPAddr // and the other way round
}

// inWorld runs a test in simulated time, in which a datagram takes a millisecond.
func inWorld(t *testing.T, sites int, run func(t *testing.T, w *world)) {
	t.Helper()
	inFarWorld(t, sites, time.Millisecond, run)
}

// inFarWorld is inWorld with a time that a datagram takes.
func inFarWorld(t *testing.T, sites int, latency time.Duration, run func(t *testing.T, w *world)) {
	t.Helper()
	compress.Default() // outside of the bubble
	compress.Thorough().Encode(nil, []byte("{}"))
	now := time.Now().Round(0)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now)) // quic-go knows no time before its process began
		ctx, cancel := context.WithCancel(t.Context())
		w := &world{
			class:  delta.Metered,
			t:      t,
			ctx:    ctx,
			center: tunneltest.NewCenter(t),
			at:     &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1},
			moved:  map[string]*net.UDPAddr{},
			behind: map[string]*net.UDPAddr{},
		}
		network, link := &simnet.Simnet{Router: w}, simnet.NodeBiDiLinkSettings{Latency: latency}
		w.packet = network.NewEndpoint(w.at, link)
		for i := range sites {
			w.sockets = append(
				w.sockets,
				network.NewEndpoint(&net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 2 + i}, link),
			)
		}
		if err := network.Start(); err != nil {
			t.Fatal(err)
		}
		w.open()
		defer func() {
			cancel()
			w.served.Wait()
			if err := w.listener.Close(); err != nil {
				t.Error(err)
			}
			for _, s := range append(w.sockets, w.packet) {
				s.Close()
			}
			network.Close()
		}()
		run(t, w)
	})
}

// SendPacket implements simnet.Router.
func (w *world) SendPacket(p simnet.Packet) error {
	w.mu.Lock()
	if w.drop != nil && w.drop(p) {
		w.mu.Unlock()
		return nil
	}
	if at := w.moved[p.From.String()]; at != nil {
		p.From = at
	}
	if at := w.behind[p.To.String()]; at != nil {
		p.To = at
	}
	w.mu.Unlock()
	return w.PerfectRouter.SendPacket(p)
}

// loses drops what a function tells, from now on; nil drops nothing.
func (w *world) loses(drop func(simnet.Packet) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop = drop
}

// moves lets a site come from another port, as a NAT does that has forgotten it.
func (w *world) moves(site, port int) *net.UDPAddr {
	w.mu.Lock()
	defer w.mu.Unlock()
	is, seems := w.sockets[site].LocalAddr().(*net.UDPAddr), &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port}
	clear(w.behind)
	w.moved[is.String()], w.behind[seems.String()] = seems, is
	return seems
}

func (w *world) open() {
	w.t.Helper()
	var err error
	w.listener, err = quic.Listen(
		quic.ListenConfig{
			Packet:   w.packet,
			ResetKey: &resetKey,
			Log:      slog.New(slog.DiscardHandler),
			TLS:      w.center.TLS(w.t),
		},
	)
	if err != nil {
		w.t.Fatal(err)
	}
}

// restart has the center begin anew, as after a kill: it has forgotten its connections, and nobody is
// told.
func (w *world) restart() {
	w.t.Helper()
	w.loses(func(simnet.Packet) bool { return true })
	if err := w.listener.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
	w.loses(nil)
}

// link is a session between a site and the center.
type link struct {
	child, parent tunnel.Conn
	desired       *objects
	copied        *storetest.Memory
	ended         chan error // of the child's side
	left          chan error // of the parent's
}

// connect begins the session of a site.
func (w *world) connect(site int) *link {
	w.t.Helper()
	return w.serve(w.dial(site))
}

// dial connects a site, and begins no session.
func (w *world) dial(site int) (child, parent tunnel.Conn) {
	w.t.Helper()
	child, err := quic.DialOver(w.ctx, w.sockets[site], w.at,
		quic.DialConfig{TLS: w.center.Site(w.t), OnHeartbeat: w.beat})
	if err != nil {
		w.t.Fatal(err)
	}
	if parent, err = w.listener.Accept(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	return child, parent
}

func (w *world) serve(child, parent tunnel.Conn) *link {
	l := &link{
		child:   child,
		parent:  parent,
		desired: newObjects(false),
		copied:  storetest.NewMemory(),
		ended:   make(chan error, 1),
		left:    make(chan error, 1),
	}
	reported := newObjects(true)
	l.desired.set(deployment(1))
	reported.set(podKey(1), podReport(1, 2))
	w.served.Go(func() {
		l.ended <- tunnel.ServeChild(w.ctx, child, tunnel.ChildConfig{Desired: l.copied, Reported: reported.Feed})
	})
	w.served.Go(func() {
		l.left <- tunnel.ServeParent(w.ctx, parent, tunnel.ParentConfig{
			Admitter: tunneltest.Parent{Feed: l.desired.Feed, Inbox: storetest.NewMemory()},
			Use:      tunnel.NewLinkUse(tunnel.Link{Class: w.class}),
		})
	})
	return l
}

// lasts fails the test when a session ends within a time.
func (w *world) lasts(l *link, d time.Duration) {
	w.t.Helper()
	select {
	case err := <-l.ended:
		w.t.Fatalf("the session ended: %v", err)
	case err := <-l.left:
		w.t.Fatalf("the session ended at the parent: %v", err)
	case <-time.After(d):
	}
}

// ends waits for the end of a side of a session and returns when and why that was.
func (w *world) ends(side chan error, within time.Duration) (time.Duration, error) {
	w.t.Helper()
	began := time.Now()
	select {
	case err := <-side:
		return time.Since(began), err
	case <-time.After(within):
		w.t.Fatalf("the session goes on after %s", within)
		return 0, nil
	}
}

func isSign(p simnet.Packet) bool { return len(p.Data) > 0 && p.Data[0]&0xc0 == 0 }

func isSilent(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
