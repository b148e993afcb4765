package tunnel

import (
	"context"
	"io"
	"net"
	"time"

	"skerry.dev/skerry/tunnel/delta"
)

// ALPN is the protocol name of the tunnel on QUIC and on TLS.
const ALPN = "skerry/1"

// DataALPN is the protocol name of a data connection, see package data.
const DataALPN = "skerry-data/1"

// How long a child hears nothing of its parent before it asks for a sign of life.
const (
	// KeepAlive is that of a link of the classes lan and wan, and of any link that was in use lately: either side notices within ten seconds when a way dies.
	KeepAlive = 6 * time.Second
	// IdleKeepAlive is that of a metered link, and of any before the parent has said its class. It is less than what NAT tables and load balancers forget an
	// idle connection after: 30 s of UDP is common.
	IdleKeepAlive = 25 * time.Second
)

// KeepAliveOf is how long a child hears nothing over a link of a class before it asks for a sign of life.
func KeepAliveOf(class delta.Class) time.Duration {
	if class == delta.Metered {
		return IdleKeepAlive
	}
	return KeepAlive
}

// Idle is how long nothing may come over a connection until it counts as dead, on both sides and over any transport.
const Idle = 70 * time.Second

// Identity is who the peer proved to be: the subject of its verified certificate. It is compared whole, never by prefix.
type Identity struct {
	// Target is the SyncTarget's name for a child, and empty for a parent.
	Target string
	// Key is the SHA-256, in hex, of the public key (SubjectPublicKeyInfo). A site keeps its key for life.
	Key string
	// Serial is the certificate's serial number in hex, for logs and revocation.
	Serial string
	// NotAfter is when the certificate ends.
	NotAfter time.Time
}

// Stream is one ordered byte stream of a Conn. Close ends the writing half; Cancel ends both halves at once and
// the peer reads an error.
type Stream interface {
	io.Reader
	io.Writer
	io.Closer
	Cancel()
	SetDeadline(t time.Time) error
}

// Conn is one authenticated connection between a child and its parent.
type Conn interface {
	// OpenStream opens a stream; the peer sees it when the first byte is written.
	OpenStream(ctx context.Context) (Stream, error)
	// AcceptStream returns the next stream that the peer opened.
	AcceptStream(ctx context.Context) (Stream, error)
	// Peer is the verified identity of the other side.
	Peer() Identity
	// Transport is "quic", "tcp" or "pipe".
	Transport() string
	// RemoteAddr is where the peer is now; a child behind a NAT may move. It is information, never identity.
	RemoteAddr() net.Addr
	// Stats counts the bytes of the connection so far, the transport's own overhead included where it is known.
	Stats() Stats
	// Done is closed when the connection has ended, for whatever reason.
	Done() <-chan struct{}
	// Err is why it ended, nil before.
	Err() error
	// Close ends the connection and tells the peer the reason. It may be called more than once.
	Close(reason error) error
}

// pinger is a Conn that can ask the other side for a sign of life. Others are written to: their transport acknowledges that.
type pinger interface{ Ping() error }

// keeper is a Conn that asks for signs of life by itself, after it has heard nothing for as long as KeepAlive says.
type keeper interface{ KeepAlive(every time.Duration) }

// Stats are byte counts of a Conn: payload of UDP datagrams for QUIC.
type Stats struct {
	SentBytes, ReceivedBytes uint64
	RTT                      time.Duration
}
