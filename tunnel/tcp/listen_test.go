package tcp_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/tunnel/tcp"
)

// slowToClose is a listener that refuses at once when it is closed, and gives its address back later.
type slowToClose struct {
	net.Listener
	refuses, release chan struct{}
}

func (l slowToClose) Accept() (net.Conn, error) {
	<-l.refuses
	return nil, net.ErrClosed
}

func (l slowToClose) Close() error {
	close(l.refuses)
	<-l.release
	return nil
}

// Whoever stops accepting may listen at the same address again.
func TestAcceptEndsWhenTheAddressIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := slowToClose{refuses: make(chan struct{}), release: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := tcp.Listen(tcp.ListenConfig{Listener: l, Log: slog.New(slog.DiscardHandler)}).Accept(ctx)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("accepting has ended and the address is not free")
		}
		close(l.release)
		if err := <-ended; err == nil {
			t.Error("a connection was accepted")
		}
	})
}
