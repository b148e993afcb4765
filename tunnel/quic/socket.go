package quic

import (
	"net"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
)

const (
	// connectionIDBytes is how long the IDs are that quic-go gives to the connections of a listener.
	connectionIDBytes = 4
	// signBytes is the size of a child's sign of life: the smallest packet that QUIC knows, with room for a PING and for no acknowledgement and no data,
	// which are larger. It is the first byte, the connection's ID, a packet number and frames of 4 bytes together, and what seals it.
	signBytes = 1 + connectionIDBytes + 4 + 16
	// signsTogether is how long a sign of life may wait for others. It is a bit more than the time after which QUIC acknowledges a packet alone (25 ms), so that
	// those before are answered when the next ones are read.
	signsTogether = 25*time.Millisecond + 500*time.Microsecond
)

// socket is the UDP socket of a center with thousands of sites. What they cost when nothing happens is that each of their signs of life wakes threads, which takes
// as long as the work itself. So those that come within a moment are handed over together, and anything else at once.
type socket struct {
	*net.UDPConn
	packets  *ipv4.PacketConn // it reads IPv6, too
	together time.Duration
	handed   time.Time // when signs of life were handed over the last time; of ReadBatch alone

	mu      sync.Mutex
	until   time.Time // the deadline that the user has set
	holding bool      // signs of life wait for others
}

// gathering returns what QUIC is to use instead of a socket of package net.
func gathering(packet net.PacketConn) net.PacketConn {
	udp, ok := packet.(*net.UDPConn)
	if !ok {
		return packet
	}
	return &socket{UDPConn: udp, packets: ipv4.NewPacketConn(udp), together: signsTogether}
}

// SetReadDeadline implements net.Conn.
func (s *socket) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = t
	return s.UDPConn.SetReadDeadline(t)
}

// hold sets a deadline of the socket's own, zero is none, unless the user has set one.
func (s *socket) hold(until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.until.IsZero() && s.UDPConn.SetReadDeadline(until) == nil
	s.holding = free && !until.IsZero()
	return free
}

// ReadBatch waits for datagrams and reads as many as there are. quic-go reads by it where a socket has it.
func (s *socket) ReadBatch(ms []ipv4.Message, flags int) (int, error) {
	n, err := s.packets.ReadBatch(ms, flags)
	if err != nil || !signs(ms[:n]) {
		return n, err
	}
	if next := s.handed.Add(s.together); time.Now().Before(next) && s.hold(next) {
		for n < len(ms) {
			more, err := s.packets.ReadBatch(ms[n:], flags)
			if err != nil {
				break // what is wrong the next read tells
			}
			if n += more; !signs(ms[n-more : n]) {
				break
			}
		}
		s.hold(time.Time{})
	}
	s.handed = time.Now()
	return n, nil
}

// signs tells whether these are signs of life and nothing else.
func signs(ms []ipv4.Message) bool {
	for i := range ms {
		if ms[i].N != signBytes {
			return false
		}
	}
	return true
}
