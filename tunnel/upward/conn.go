package upward

import (
	"io"
	"net"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
)

// conn is a stream as net/http needs it.
type conn struct {
	tunnel.Stream
	once   sync.Once
	close  func(*conn)
	closed chan struct{}
}

func newConn(s tunnel.Stream, close func(*conn)) *conn {
	return &conn{Stream: s, close: close, closed: make(chan struct{})}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.close(c)
		close(c.closed)
	})
	return nil
}

// CloseWrite implements exchange.CloseWriter: it ends this side's half.
func (c *conn) CloseWrite() error { return c.Stream.Close() }

// over ends this side's half, and waits until the other side has ended its own; it cancels the
// stream where that takes longer, or where the other side still sends.
func (c *conn) over(wait time.Duration) {
	err := c.Stream.Close()
	_ = c.SetDeadline(time.Now().Add(wait)) // fails with the stream, which the read tells
	n, rest := io.Copy(io.Discard, io.LimitReader(c.Stream, 1))
	if err != nil || rest != nil || n > 0 {
		c.Cancel()
	}
}

// The addresses of a stream mean nothing: its ends are known by their certificates.
func (c *conn) LocalAddr() net.Addr                { return noAddress{} }
func (c *conn) RemoteAddr() net.Addr               { return noAddress{} }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.SetDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

type noAddress struct{}

func (noAddress) Network() string { return "stream" }
func (noAddress) String() string  { return "" }
