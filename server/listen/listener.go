package listen

import (
	"context"
	"net"
	"sync"
	"time"
)

// listener hands out connections that came by the port.
type listener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newListener(addr net.Addr) *listener {
	return &listener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// hand gives a connection to who accepts. It reports whether somebody took it in time.
func (l *listener) hand(ctx context.Context, c net.Conn) bool {
	patience := time.NewTimer(handTime)
	defer patience.Stop()
	select {
	case l.conns <- c:
		return true
	case <-l.closed:
	case <-patience.C:
	case <-ctx.Done():
	}
	return false
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The port goes on; connections that nobody accepts any more are
// closed.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.addr }
