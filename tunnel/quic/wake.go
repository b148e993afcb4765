package quic

import (
	"errors"
	"fmt"
	"net"
)

// A wake is a datagram that is no QUIC packet (its first two bits are 0): this byte, and then what the child was told to expect.
const (
	wakeByte = 0x21
	maxWake  = 64
)

// WakeOf returns what a wake carries, and nil for a datagram that is none.
func WakeOf(datagram []byte) []byte {
	if len(datagram) < 2 || datagram[0] != wakeByte {
		return nil
	}
	return datagram[1:]
}

// Wake sends a datagram to where a child was connected from before this center was restarted: a child that has nothing to say would notice only
// at its next sign of life. What it carries is known to the child alone, see tunnel.Welcome, so nobody else can wake it.
func (l *Listener) Wake(to net.Addr, secret []byte) error {
	if len(secret) >= maxWake {
		return errors.New("wake: the secret is too long")
	}
	if _, err := l.transport.WriteTo(append([]byte{wakeByte}, secret...), to); err != nil {
		return fmt.Errorf("wake %s: %w", to, err)
	}
	return nil
}
