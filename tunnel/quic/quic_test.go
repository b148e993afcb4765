package quic_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	s.listen(t, "127.0.0.1:0")
	return s
}

var resetKey = [32]byte{1, 2, 3}

func (s *site) listen(t testing.TB, address string) {
	t.Helper()
	var err error
	if s.packet, err = net.ListenPacket("udp", address); err != nil {
		t.Fatal(err)
	}
	s.listener, err = quic.Listen(quic.ListenConfig{Packet: s.packet, ResetKey: &resetKey, Log: slog.New(slog.DiscardHandler), TLS: s.TLS(t)})
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return quic.Dial(ctx, s.packet.LocalAddr().String(), quic.DialConfig{TLS: config, Log: slog.New(slog.DiscardHandler)})
}

func (s *site) pair(t testing.TB) (child, parent tunnel.Conn) {
	t.Helper()
	child, err := s.dial(t, s.child)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
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

// Who cannot prove to be an agent of this center does not get a connection, and an impostor of the center none either.
func TestStrangersAreRefused(t *testing.T) {
	s := newSite(t)
	accepted := make(chan tunnel.Conn, 10)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for {
			c, err := s.listener.Accept(ctx)
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	none := s.child.Clone()
	none.Certificates = nil
	impostor := s.child.Clone()
	impostor.RootCAs = tunneltest.NewAuthority(t, "another center").Pool()
	for name, config := range map[string]*tls.Config{
		"no certificate": none, "certificate of the server's CA": s.Child(t, s.Server, enroll.Organization, "a"),
		"not an agent's": s.Child(t, s.Agents, "system:masters", "a"), "another center": impostor,
	} {
		c, err := s.dial(t, config)
		if err != nil {
			continue
		}
		// With TLS 1.3 a client learns that it was refused after its own side of the handshake.
		select {
		case <-c.Done():
		case <-time.After(5 * time.Second):
			t.Errorf("%s: the connection stands", name)
		}
		c.Close(nil)
	}
	cancel()
	for c := range accepted {
		t.Errorf("a stranger was accepted as %q", c.Peer().Target)
	}
}

// A center that was restarted has forgotten its connections; the key that it kept lets it say so at once.
func TestRestartIsNoticed(t *testing.T) {
	s := newSite(t)
	child, _ := s.pair(t)
	address := s.packet.LocalAddr().String()
	s.packet.Close() // as a kill would: nobody is told
	s.listener.Close()
	s.listen(t, address)
	stream, err := child.OpenStream(context.Background())
	if err != nil && child.Err() == nil {
		t.Fatal(err)
	}
	at := time.Now()
	for child.Err() == nil && time.Since(at) < 5*time.Second {
		if stream != nil {
			stream.Write(make([]byte, 64)) // a smaller packet is not worth an answer
		}
		select {
		case <-child.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	if took := time.Since(at); took > time.Second {
		t.Errorf("noticed after %s, want 1s: %v", took, child.Err())
	}
}

func TestNobodyThere(t *testing.T) {
	s := newSite(t)
	s.close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	at := time.Now()
	if _, err := quic.Dial(ctx, s.packet.LocalAddr().String(), quic.DialConfig{TLS: s.child, Log: slog.New(slog.DiscardHandler)}); err == nil || errors.Is(err, ctx.Err()) && time.Since(at) > 9*time.Second {
		t.Errorf("dial: %v after %s", err, time.Since(at))
	}
}

// A listener that would take any certificate unseen does not start.
func TestListenNeedsVerification(t *testing.T) {
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packet.Close()
	for _, auth := range []tls.ClientAuthType{tls.NoClientCert, tls.RequestClientCert, tls.RequireAnyClientCert, tls.VerifyClientCertIfGiven} {
		if l, err := quic.Listen(quic.ListenConfig{Packet: packet, TLS: &tls.Config{ClientAuth: auth}, Log: slog.New(slog.DiscardHandler)}); err == nil {
			l.Close()
			t.Errorf("%v: it listens", auth)
		}
	}
}
