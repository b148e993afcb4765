package tunnel

import (
	"net"
	"net/netip"
)

// Source is whom an address counts for where connections or requests are limited before anybody has said who he is: one subscriber has a whole
// IPv6 network of 64 bits. Whatever is no address counts for the zero Prefix, one for all of them.
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
