package tcp

import (
	"crypto/tls"
	"time"

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
func newConn(c carrier, peer tunnel.Identity, child bool, rtt time.Duration) tunnel.Conn {
	return mux.New(c, mux.Options{Profile: mux.Sync, Child: child, Peer: peer, Transport: "tcp", RTT: rtt})
}
