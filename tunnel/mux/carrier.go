package mux

import (
	"errors"
	"io"
	"net"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Carrier is the ordered byte stream below a connection, whose ends have proven who they are.
type Carrier interface {
	io.Reader
	io.Writer
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	// CloseWrite ends what this side writes, behind what is written.
	CloseWrite() error
	// Abort ends the carrier at once, with both directions. It may be called more than once.
	Abort() error
	RemoteAddr() net.Addr
	// Crossed is how many bytes were sent and received so far, the carrier's own included.
	Crossed() (sent, received uint64)
}

// deadlines is a stream whose two directions have a deadline each.
type deadlines interface {
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// overStream is a carrier that is the only stream of a connection.
type overStream struct {
	tunnel.Stream
	deadlines
	conn tunnel.Conn
}

// OverStream returns a carrier that is the only stream of a connection, and ends with it.
func OverStream(conn tunnel.Conn, s tunnel.Stream) (Carrier, error) {
	d, ok := s.(deadlines)
	if !ok {
		return nil, errors.New("the stream has no deadline for each direction")
	}
	return overStream{s, d, conn}, nil
}

// CloseWrite implements Carrier.
func (o overStream) CloseWrite() error { return o.Stream.Close() }

// Abort implements Carrier.
func (o overStream) Abort() error { return o.conn.Close(nil) }

// RemoteAddr implements Carrier.
func (o overStream) RemoteAddr() net.Addr { return o.conn.RemoteAddr() }

// Crossed implements Carrier.
func (o overStream) Crossed() (sent, received uint64) {
	s := o.conn.Stats()
	return s.SentBytes, s.ReceivedBytes
}
