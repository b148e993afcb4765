package quic_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/testutils/simnet"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) {
	os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true") // of the simulated network
	leak.Main(m)
}

// site is one center and what a child of it needs.
type site struct {
	*tunneltest.Center
	listener *quic.Listener
	packet   net.PacketConn
	child    *tls.Config
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{Center: tunneltest.NewCenter(t)}
	s.child = s.Site(t)
	s.listen(t, tunneltest.AnyPort())
	return s
}

var resetKey = [32]byte{1, 2, 3}

func (s *site) listen(t testing.TB, address string) {
	t.Helper()
	var err error
	if s.packet, err = net.ListenPacket("udp", address); err != nil {
		t.Fatal(err)
	}
	s.listener, err = quic.Listen(
		quic.ListenConfig{Packet: s.packet, ResetKey: &resetKey, Log: slog.New(slog.DiscardHandler), TLS: s.TLS(t)},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
}

func (s *site) close() {
	s.listener.Close()
	s.packet.Close()
}

func (s *site) dial(t testing.TB, config *tls.Config) (tunnel.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return quic.Dial(
		ctx,
		s.packet.LocalAddr().String(),
		quic.DialConfig{TLS: config, Log: slog.New(slog.DiscardHandler)},
	)
}

func (s *site) pair(t testing.TB) (child, parent tunnel.Conn) {
	t.Helper()
	child, err := s.dial(t, s.child)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if parent, err = s.listener.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Close(nil)
		<-parent.Done()
	})
	return child, parent
}

func TestConn(t *testing.T) {
	s := newSite(t)
	tunneltest.Run(t, func(t *testing.T) (child, parent tunnel.Conn) { return s.pair(t) })
}

// A stream that the other side cancels says so in words of the tunnel.
func TestCanceledStream(t *testing.T) {
	child, parent := newSite(t).pair(t)
	out, err := child.OpenStream(t.Context())
	if err == nil {
		_, err = out.Write([]byte("x"))
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := parent.AcceptStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out.Cancel()
	for err == nil {
		_, err = in.Read(make([]byte, 1))
	}
	if !errors.Is(err, tunnel.ErrStreamCanceled) {
		t.Errorf("a read of a canceled stream: %v", err)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	s := newSite(t)
	s.RefusesStrangers(t, s.listener.Accept, func(config *tls.Config) (tunnel.Conn, error) { return s.dial(t, config) })
}

// tickets counts the sessions that a child could resume.
type tickets struct{ n atomic.Int32 }

func (*tickets) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

func (c *tickets) Put(_ string, session *tls.ClientSessionState) {
	if session != nil {
		c.n.Add(1)
	}
}

// A parent sends nothing to resume a session with: no child does, and it is 800 bytes.
func TestNoTickets(t *testing.T) {
	s := newSite(t)
	kept := &tickets{}
	s.child.ClientSessionCache = kept
	child, parent := s.pair(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := parent.OpenStream(ctx)
	if err == nil {
		_, err = stream.Write([]byte("behind what a handshake ends with"))
	}
	if err == nil {
		_, err = child.AcceptStream(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := kept.n.Load(); n != 0 {
		t.Errorf("%d tickets", n)
	}
}

// A center that was restarted has forgotten its connections; the key that it kept lets it say so at
// once.
func TestRestartIsNoticed(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		child, _ := w.dial(0)
		w.restart()
		stream, err := child.OpenStream(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for child.Err() == nil && time.Since(began) < time.Minute {
			_, _ = stream.Write(make([]byte, 64)) // a smaller packet is not worth an answer
			select {
			case <-child.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		if took := time.Since(began); took > time.Second || !errors.As(child.Err(), new(*quicgo.StatelessResetError)) {
			t.Errorf("noticed after %s, want 1s: %v", took, child.Err())
		}
	})
}

// A dial of nobody ends by itself.
func TestNobodyThere(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.loses(func(simnet.Packet) bool { return true })
		began := time.Now()
		_, err := quic.DialOver(w.ctx, w.sockets[0], w.at, quic.DialConfig{TLS: w.center.Site(t)})
		if took := time.Since(began); !isSilent(err) || took > 7*time.Second {
			t.Errorf("dial: %v after %s", err, took)
		}
	})
}

// A listener that would take any certificate unseen does not start.
func TestListenNeedsVerification(t *testing.T) {
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packet.Close()
	for _, auth := range []tls.ClientAuthType{tls.NoClientCert, tls.RequestClientCert,
		tls.RequireAnyClientCert, tls.VerifyClientCertIfGiven} {
		if l, err := quic.Listen(quic.ListenConfig{Packet: packet, TLS: &tls.Config{ClientAuth: auth},
			Log: slog.New(slog.DiscardHandler)}); err == nil {
			l.Close()
			t.Errorf("%v: it listens", auth)
		}
	}
}
