package quic

import (
	"context"
	"errors"
	"fmt"
	"net"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// streamCancelled is the code of a stream that was given up.
const streamCancelled quicgo.StreamErrorCode = 1

// maxReason bounds the text that a peer may send as the reason of its close.
const maxReason = 256

type conn struct {
	quic *quicgo.Conn
	peer tunnel.Identity
}

// newConn takes over a connection. release frees what it alone used when it has ended: a child's socket.
func newConn(q *quicgo.Conn, peer tunnel.Identity, release func()) *conn {
	if release != nil {
		context.AfterFunc(q.Context(), release)
	}
	return &conn{quic: q, peer: peer}
}

func (c *conn) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	s, err := c.quic.OpenStreamSync(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	return stream{s}, nil
}

func (c *conn) AcceptStream(ctx context.Context) (tunnel.Stream, error) {
	s, err := c.quic.AcceptStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("accept a stream: %w", err)
	}
	return stream{s}, nil
}

func (c *conn) Peer() tunnel.Identity { return c.peer }

func (c *conn) Transport() string { return "quic" }

func (c *conn) RemoteAddr() net.Addr { return c.quic.RemoteAddr() }

func (c *conn) Stats() tunnel.Stats {
	s := c.quic.ConnectionStats()
	return tunnel.Stats{SentBytes: s.BytesSent, ReceivedBytes: s.BytesReceived, RTT: s.SmoothedRTT}
}

func (c *conn) Done() <-chan struct{} { return c.quic.Context().Done() }

func (c *conn) Err() error {
	if c.quic.Context().Err() == nil {
		return nil
	}
	err := context.Cause(c.quic.Context())
	var closed *quicgo.ApplicationError
	if errors.As(err, &closed) {
		return tunnel.ReasonOf(uint64(closed.ErrorCode), closed.ErrorMessage)
	}
	return err
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

// stream is a QUIC stream whose Cancel gives up both halves.
type stream struct{ *quicgo.Stream }

func (s stream) Cancel() {
	s.CancelRead(streamCancelled)
	s.CancelWrite(streamCancelled)
}
