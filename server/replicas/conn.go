package replicas

import (
	"crypto/tls"

	"skerry.dev/skerry/tunnel/mux"
)

const (
	streamWindow    = 128 << 10
	maxStreamWindow = 4 << 20
	// memory is what the windows of all connections may promise together, in bytes. A quarter of it
	// is kept for streams that begin.
	memory = 256 << 20
)

// profile is that of a connection with one stream. Each side asks the other whether it lives, for
// TCP alone tells only minutes later that a host has gone while something is on its way to it.
var profile = mux.Profile{
	StreamWindow: streamWindow, MaxStreamWindow: maxStreamWindow, ConnectionWindow: maxStreamWindow,
	ChildStreams: 1, FailsFull: true, ReadBuffer: 32 << 10,
	KeepAlive: mux.Data.KeepAlive, Dead: mux.Data.Dead, BothAsk: true, Unused: dialTime,
}

// conn is a connection; child is true at the side that has dialled.
func (r *Replicas) conn(c *tls.Conn, child bool) *mux.Conn {
	return mux.New(carrier{c}, mux.Options{
		Profile: profile, Child: child, Transport: "tcp", Budget: r.budget,
	})
}

// carrier is a TLS connection whose handshake is done. It implements mux.Carrier.
type carrier struct{ *tls.Conn }

// Abort implements mux.Carrier. It does not wait for who writes.
func (c carrier) Abort() error { return c.NetConn().Close() }

// Crossed implements mux.Carrier. Nobody counts what replicas say to each other.
func (carrier) Crossed() (sent, received uint64) { return 0, 0 }
