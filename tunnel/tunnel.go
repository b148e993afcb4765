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

// ReplicaALPN is the protocol name of a connection between two replicas of a center.
const ReplicaALPN = "skerry-replica/1"

// How long a child hears nothing of its parent before it asks for a heartbeat.
const (
	// KeepAlive is the interval of links of the classes lan and wan, and of any link that was in
	// use lately. With it either side notices within ten seconds that a path has died.
	KeepAlive = 6 * time.Second
	// IdleKeepAlive is the interval of a metered link, and of any link before the parent has named
	// its class. NAT tables and load balancers forget an idle UDP connection after 30 s; this is
	// less.
	IdleKeepAlive = 25 * time.Second
)

// KeepAliveOf returns how long a child on a link of this class hears nothing before it asks for a
// heartbeat.
func KeepAliveOf(class delta.Class) time.Duration {
	if class == delta.Metered {
		return IdleKeepAlive
	}
	return KeepAlive
}

// Idle is how long nothing may arrive on a connection until both sides count it as dead. It holds
// for every transport.
const Idle = 70 * time.Second

// Identity is who the peer proved to be: the subject of its verified certificate. It is compared
// whole, never by prefix.
type Identity struct {
	// Target is the name of a child's SyncTarget, and empty for a parent.
	Target string
	// Certified is the name in the certificate, where that is another one: the SyncTarget was renamed.
	Certified string
	// Key is the SHA-256, in hex, of the public key (SubjectPublicKeyInfo). A site keeps its key
	// for life.
	Key string
	// Serial is the certificate's serial number in hex, for logs and revocation.
	Serial string
	// NotAfter is when the certificate expires.
	NotAfter time.Time
}

// Stream is one ordered byte stream of a Conn. Close ends the writing half. Cancel ends both halves
// at once; the peer then reads an error.
type Stream interface {
	io.Reader
	io.Writer
	io.Closer
	Cancel()
	SetDeadline(t time.Time) error
}

// Answered is how many bytes an answer may have that is expected to come at once: a list of a few hundred objects. A
// watch or a terminal sends little at a time, and is not worth as much of the memory that windows may promise.
const Answered = 256 << 10

// Expect lets the peer send so many bytes on a stream before it waits for credit, where its connection can say that.
// It is called before the first byte is written, so that the answer does not take a round trip for each doubling of a
// first window.
func Expect(s Stream, bytes int) {
	if e, ok := s.(interface{ Expect(bytes int) }); ok {
		e.Expect(bytes)
	}
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
	// RemoteAddr is the peer's present address. It changes when a child moves behind a NAT. It is
	// information, never identity.
	RemoteAddr() net.Addr
	// Stats counts the bytes of the connection so far. It includes the transport's own overhead
	// where that is known.
	Stats() Stats
	// Done is closed when the connection has ended, for whatever reason.
	Done() <-chan struct{}
	// Err returns why the connection ended, and nil before it has.
	Err() error
	// Close ends the connection and tells the peer the reason. It may be called more than once.
	Close(reason error) error
}

// pinger is a Conn that can ask the peer for a heartbeat. To other Conns the session writes: their
// transport acknowledges that.
type pinger interface{ Ping() error }

// keeper is a Conn that sends heartbeats by itself, after it has heard nothing for the interval
// that KeepAlive sets.
type keeper interface{ KeepAlive(every time.Duration) }

// Stats are byte counts of a Conn: for QUIC the payload of UDP datagrams.
type Stats struct {
	SentBytes, ReceivedBytes uint64
	RTT                      time.Duration
}
