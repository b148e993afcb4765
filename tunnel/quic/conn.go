package quic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// streamCancelled is the code of a stream that was cancelled.
const streamCancelled quicgo.StreamErrorCode = 1

// maxReason bounds the text that a peer may send as the reason of its close.
const maxReason = 256

type conn struct {
	quic   *quicgo.Conn
	peer   tunnel.Identity
	secret secret
	asks   chan struct{} // of a child's
	socket *ownSocket    // of a child's
	// every is for how many nanoseconds nothing comes until a child asks for a heartbeat. 0 is
	// tunnel.IdleKeepAlive.
	every  atomic.Int64
	silent atomic.Bool // it was ended because nothing came
	// closed is why the other side has closed it, once a stream has said so: quic-go tells streams first.
	closed atomic.Pointer[quicgo.ApplicationError]

	// bytes of heartbeats
	sent, received atomic.Uint64
}

// newConn wraps a connection whose handshake is done.
func newConn(q *quicgo.Conn, peer tunnel.Identity) (*conn, error) {
	s, err := secretOf(q)
	return &conn{quic: q, peer: peer, secret: s}, err
}

func (c *conn) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	s, err := c.quic.OpenStreamSync(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", reasonOf(err))
	}
	return stream{s, c}, nil
}

func (c *conn) AcceptStream(ctx context.Context) (tunnel.Stream, error) {
	s, err := c.quic.AcceptStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("accept a stream: %w", reasonOf(err))
	}
	return stream{s, c}, nil
}

func (c *conn) Peer() tunnel.Identity { return c.peer }

func (c *conn) Transport() string { return "quic" }

func (c *conn) RemoteAddr() net.Addr { return c.quic.RemoteAddr() }

func (c *conn) Stats() tunnel.Stats {
	s := c.quic.ConnectionStats()
	return tunnel.Stats{
		SentBytes:     s.BytesSent + c.sent.Load(),
		ReceivedBytes: s.BytesReceived + c.received.Load(),
		RTT:           s.SmoothedRTT,
	}
}

// Asks signals that something must cross within the connection. A heartbeat beside it was not
// answered, or shows that this side has moved. It is nil at a parent. See tunnel.ServeChild.
func (c *conn) Asks() <-chan struct{} { return c.asks }

// KeepAlive sets how long a child hears nothing before it asks for a heartbeat.
func (c *conn) KeepAlive(every time.Duration) { c.every.Store(int64(every)) }

// keepAlive returns how long that is.
func (c *conn) keepAlive() time.Duration {
	return cmp.Or(time.Duration(c.every.Load()), tunnel.IdleKeepAlive)
}

// ask makes something cross within the connection.
func (c *conn) ask() {
	select {
	case c.asks <- struct{}{}:
	default: // it has not crossed yet
	}
}

func (c *conn) Done() <-chan struct{} { return c.quic.Context().Done() }

func (c *conn) Err() error {
	if c.silent.Load() { // its streams fail before it is done
		return &quicgo.IdleTimeoutError{}
	}
	if closed := c.closed.Load(); closed != nil {
		return reasonOf(closed)
	}
	if c.quic.Context().Err() == nil {
		return nil
	}
	return reasonOf(context.Cause(c.quic.Context()))
}

// reasonOf returns the reason for which the other side has closed the connection, and err itself
// if it has not.
func reasonOf(err error) error {
	var closed *quicgo.ApplicationError
	if errors.As(err, &closed) && closed.Remote {
		return tunnel.ReasonOf(uint64(closed.ErrorCode), closed.ErrorMessage)
	}
	return err
}

// expire ends a connection that is silent, as QUIC's idle timeout would. The peer may still hear
// us.
func (c *conn) expire() {
	c.silent.Store(true)
	_ = c.quic.CloseWithError(0, "nothing was heard for "+tunnel.Idle.String())
}

func (c *conn) Close(reason error) error {
	text := ""
	if reason != nil && !errors.Is(reason, context.Canceled) {
		text = reason.Error()
	}
	if len(text) > maxReason {
		text = text[:maxReason]
	}
	return c.quic.CloseWithError(quicgo.ApplicationErrorCode(tunnel.CodeOf(reason)), text)
}

// stream is a QUIC stream whose Cancel ends both halves. Its errors tell why the other side has closed
// the connection, and Conn.Err tells it from then on.
type stream struct {
	*quicgo.Stream
	of *conn
}

func (s stream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	return n, s.of.ended(err)
}

func (s stream) Write(p []byte) (int, error) {
	n, err := s.Stream.Write(p)
	return n, s.of.ended(err)
}

// ended returns why a stream has ended. It is tunnel.ErrStreamCanceled when the other side has
// canceled the stream, alone or with the connection and without a reason.
func (c *conn) ended(err error) error {
	var reset *quicgo.StreamError
	var closed *quicgo.ApplicationError
	if errors.As(err, &closed) && closed.Remote {
		c.closed.CompareAndSwap(nil, closed)
	}
	if errors.As(err, &reset) && reset.Remote && reset.ErrorCode == streamCancelled ||
		errors.As(err, &closed) && closed.Remote && closed.ErrorCode == 0 {
		return fmt.Errorf("%w: %w", tunnel.ErrStreamCanceled, err)
	}
	return reasonOf(err)
}

func (s stream) Cancel() {
	s.CancelRead(streamCancelled)
	s.CancelWrite(streamCancelled)
}
