package tcp

import (
	"context"
	"crypto/tls"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// carrier is a TLS connection whose handshake is done. It implements mux.Carrier.
type carrier struct {
	*tls.Conn
	meter *Meter
}

// Abort implements mux.Carrier. It does not wait for who writes.
func (c carrier) Abort() error { return c.NetConn().Close() }

// Crossed implements mux.Carrier. What TCP and IP add is not known here.
func (c carrier) Crossed() (sent, received uint64) {
	return c.meter.sent.Load(), c.meter.received.Load()
}

// newConn is a session's connection over a carrier.
func newConn(c carrier, o mux.Options) tunnel.Conn {
	o.Profile, o.Transport = mux.Sync, "tcp"
	return mux.New(c, o)
}

// Data is a data connection on which nothing was said yet. It implements data.Bare.
type Data struct {
	carrier
	peer tunnel.Identity
}

// Peer is the verified identity of the other side; it is empty for a parent.
func (d *Data) Peer() tunnel.Identity { return d.peer }

// Transport is "tcp".
func (d *Data) Transport() string { return "tcp" }

// Carry returns the connection itself.
func (d *Data) Carry(context.Context) (mux.Carrier, error) { return d.carrier, nil }

// Close ends the connection. The other side is told nothing.
func (d *Data) Close(error) error { return d.Abort() }
