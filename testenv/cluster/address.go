package cluster

import (
	"fmt"
	"net"
	"net/netip"
)

// maxIndex bounds the clusters of one kind on a machine.
const maxIndex = 16384

// loopbackAddress is the address of simulated cluster i. All of 127.0.0.0/8 is
// the loopback interface's on Linux, so each has its own, with the usual ports.
func loopbackAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 77, byte(i / 250), byte(i%250 + 1)})
}

// veth is the point-to-point network between the host and a real cluster.
type veth struct {
	// Device is the name of the host's end. In the cluster it is eth0.
	Device string
	// Host and Cluster are the addresses of the two ends.
	Host, Cluster netip.Addr
}

// vethPrefix is the length of each veth's prefix: two usable addresses.
const vethPrefix = 30

func vethFor(i int) veth {
	third, fourth := byte(i/64), byte(i%64*4)
	return veth{
		Device:  fmt.Sprintf("skt%d", i),
		Host:    netip.AddrFrom4([4]byte{10, 202, third, fourth + 1}),
		Cluster: netip.AddrFrom4([4]byte{10, 202, third, fourth + 2}),
	}
}

// firstFree returns the lowest index that no cluster of the kind has and that
// usable accepts.
func firstFree(clusters []*Cluster, kind Kind, usable func(int) bool) (int, error) {
	taken := map[int]bool{}
	for _, c := range clusters {
		if c.Kind == kind {
			taken[c.Index] = true
		}
	}
	for i := range maxIndex {
		if !taken[i] && usable(i) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no address is free for another %s cluster", kind)
}

// loopbackFree says whether the ports of a simulated cluster are free at its
// address: another user's state directory may have the same index.
func loopbackFree(i int) bool {
	for _, port := range []uint16{apiPort, kubeletPort} {
		l, err := net.Listen("tcp", netip.AddrPortFrom(loopbackAddress(i), port).String())
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// vethFree says whether there is no such device yet and no other interface of
// the host has an address in its network.
func vethFree(i int) bool {
	v := vethFor(i)
	network := netip.PrefixFrom(v.Host, vethPrefix).Masked()
	interfaces, err := net.Interfaces()
	if err != nil {
		return false
	}
	for _, link := range interfaces {
		if link.Name == v.Device {
			return false
		}
		addresses, err := link.Addrs()
		if err != nil {
			continue // it has just gone
		}
		for _, a := range addresses {
			other, err := netip.ParsePrefix(a.String())
			if err == nil && other.Overlaps(network) {
				return false
			}
		}
	}
	return true
}
