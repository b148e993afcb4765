package tcp

import (
	"net"
	"sync/atomic"
)

// Meter counts the bytes of a TCP connection, what TLS adds included.
type Meter struct {
	net.Conn
	sent, received atomic.Uint64
}

// NewMeter returns the connection with a count.
func NewMeter(c net.Conn) *Meter { return &Meter{Conn: c} }

// Read implements net.Conn.
func (m *Meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.received.Add(uint64(n))
	return n, err
}

// Write implements net.Conn.
func (m *Meter) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.sent.Add(uint64(n))
	return n, err
}
