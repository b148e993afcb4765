package tunnel

import (
	"net"
	"net/netip"
)

// Source returns the subscriber that an address counts for, where connections are limited before a
// peer has proved its identity. One IPv6 subscriber has a whole network of 64 bits. An invalid
// address counts for the zero Prefix.
func Source(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	source, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return source
}

// SourceOf is Source of the remote address of a TCP or UDP connection.
func SourceOf(a net.Addr) netip.Prefix {
	addr, ok := a.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.Prefix{}
	}
	return Source(addr.AddrPort().Addr())
}
