package data

import (
	"sync"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/traffic"
)

// Link is one data connection as its parent has it.
type Link struct {
	who   tunnel.Identity
	conn  *mux.Conn
	meter *traffic.Meter

	instance string        // the run of the child; set before anybody sees the link
	number   tunnel.Number // that it was asked for with

	mu     sync.Mutex
	before Crossing
}

// Crossing is what has crossed a connection, in bytes. Streams are frames of streams in both
// directions, Transport is what was added to them.
type Crossing struct{ Sent, Received, Streams, Transport uint64 }

// Peer is the child's identity.
func (l *Link) Peer() tunnel.Identity { return l.who }

// Crossed is what has crossed since the last call.
func (l *Link) Crossed() Crossing {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now Crossing
	now.Sent, now.Received = l.conn.Crossed()
	now.Streams = l.meter.Counted(traffic.Streams)
	now.Transport = l.before.Transport
	if all := now.Sent + now.Received; all > now.Streams+now.Transport {
		now.Transport = all - now.Streams // it never goes back: what is written may not have left yet
	}
	was := l.before
	l.before = now
	return Crossing{now.Sent - was.Sent, now.Received - was.Received, now.Streams - was.Streams,
		now.Transport - was.Transport}
}

// Transport is "quic", "tcp" or "pipe".
func (l *Link) Transport() string { return l.conn.Transport() }
