package cluster

import (
	"errors"
	"io"
	"net"
	"net/netip"
)

// maxSimulated bounds the simulated clusters on a machine.
const maxSimulated = 16384

// loopbackAddress is the address of simulated cluster i. All of 127.0.0.0/8 is
// the loopback interface's on Linux, so each has its own, with the usual ports.
func loopbackAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 77, byte(i / 250), byte(i%250 + 1)})
}

// firstFree returns the first loopback address that no cluster has and that
// usable accepts.
func firstFree(clusters []*Cluster, usable func(netip.Addr) bool) (netip.Addr, error) {
	taken := map[string]bool{}
	for _, c := range clusters {
		taken[c.Address] = true
	}
	for i := range maxSimulated {
		address := loopbackAddress(i)
		if !taken[address.String()] && usable(address) {
			return address, nil
		}
	}
	return netip.Addr{}, errors.New("no loopback address is free for another simulated cluster")
}

// claim takes an address for an Up, for as long as the answer is open: clusters
// of other state directories may be starting at the same moment, and do not
// listen yet. It returns nil when somebody else has the address. The claim is a
// name of the machine's network namespace, so a crash leaves nothing behind.
func claim(address netip.Addr) io.Closer {
	name, err := net.Listen("unix", "@skerry-testenv-"+address.String())
	if err != nil {
		return nil
	}
	for _, port := range []uint16{apiPort, kubeletPort} {
		l, err := net.Listen("tcp", netip.AddrPortFrom(address, port).String())
		if err != nil {
			name.Close()
			return nil
		}
		l.Close()
	}
	return name
}
