package tcp_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// site is one center and what a child of it needs.
type site struct {
	*tunneltest.Center
	listener *tcp.Listener
	address  string
	child    *tls.Config
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{Center: tunneltest.NewCenter(t)}
	s.child = s.Site(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	s.listener = tcp.Listen(
		tcp.ListenConfig{Listener: tunneltest.Port{Listener: l, Config: s.TLS(t)}, Log: slog.New(slog.DiscardHandler)},
	)
	t.Cleanup(func() { s.listener.Close() })
	return s
}

func (s *site) pair(t testing.TB) (child, parent tunnel.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var dialled sync.WaitGroup
	defer dialled.Wait()
	dialled.Go(func() {
		var err error
		if child, err = tcp.Dial(ctx, s.address, tcp.DialConfig{TLS: s.child}); err != nil {
			t.Error(err)
		}
	})
	parent, err := s.listener.Accept(context.Background())
	if err != nil {
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

func TestStrangersAreRefused(t *testing.T) {
	s := newSite(t)
	s.RefusesStrangers(t, s.listener.Accept, func(config *tls.Config) (tunnel.Conn, error) {
		return tcp.Dial(t.Context(), s.address, tcp.DialConfig{TLS: config})
	})
}

// A server that speaks TLS and not this protocol is told apart from one that is down.
func TestAnotherServer(t *testing.T) {
	s := newSite(t)
	config := s.TLS(t)
	config.NextProtos = nil
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var served sync.WaitGroup
	defer served.Wait()
	served.Go(func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(io.Discard, c)
			c.Close()
		}
	})
	if c, err := tcp.Dial(t.Context(), l.Addr().String(), tcp.DialConfig{TLS: s.child}); err == nil {
		c.Close(nil)
		t.Error("a connection to a server of another protocol")
	}
}

// Streams that come and go leave nothing behind, and never more are open than the other side lets
// in.
func TestStreamsComeAndGo(t *testing.T) {
	child, parent := newSite(t).pair(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const streams = 500
	var opened, all sync.WaitGroup
	defer all.Wait()
	accepting, stop := context.WithCancel(ctx)
	all.Go(func() {
		for {
			s, err := parent.AcceptStream(accepting)
			if accepting.Err() != nil {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			all.Go(func() {
				_, _ = io.Copy(s, s)
				s.Close()
			})
		}
	})
	for i := range streams {
		opened.Go(func() {
			s, err := child.OpenStream(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			if i%10 == 0 { // it may be gone before it is accepted
				s.Write([]byte("never mind"))
				s.Cancel()
				return
			}
			s.Write(make([]byte, i*100))
			s.Close()
			if got, err := io.ReadAll(s); len(got) != i*100 || err != nil {
				t.Errorf("%d bytes of %d, %v", len(got), i*100, err)
			}
		})
	}
	opened.Wait()
	stop()
}
