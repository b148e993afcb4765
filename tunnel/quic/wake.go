package quic

import (
	"errors"
	"fmt"
	"net"
)

// A wake-up is a datagram that is no QUIC packet, because its first two bits are 0. It has this
// byte, and then the secret that Welcome told the child.
const (
	wakeByte = 0x21
	maxWake  = 64
)

// WakeOf returns the secret that a wake-up carries, and nil for any other datagram.
func WakeOf(datagram []byte) []byte {
	if len(datagram) < 2 || datagram[0] != wakeByte {
		return nil
	}
	return datagram[1:]
}

// Wake sends a wake-up to where a child was connected from before this center was restarted. An
// idle child would otherwise notice only at its next heartbeat. Only the child knows the secret,
// see tunnel.Welcome, so nobody else can wake it.
func (l *Listener) Wake(to net.Addr, secret []byte) error {
	if len(secret) >= maxWake {
		return errors.New("wake: the secret is too long")
	}
	if _, err := l.transport.WriteTo(append([]byte{wakeByte}, secret...), to); err != nil {
		return fmt.Errorf("wake %s: %w", to, err)
	}
	return nil
}
