package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Uplink is a cable between the host's own namespace and another: a network of
// two addresses, so that the host reaches what listens in the namespace and
// nothing else does.
type Uplink struct {
	// Device is the name of the host's end. The other is [UplinkDevice].
	Device string
	// Host and Inside are the addresses of the two ends.
	Host, Inside netip.Addr
}

const (
	// UplinkDevice is the end of an uplink that is in the namespace.
	UplinkDevice = "eth0"

	uplinkPrefix = 30    // two addresses in each network
	maxUplinks   = 16384 // as many as 10.202.0.0/16 has
)

// uplink returns the i-th of all uplinks. Device and addresses follow from each
// other, so who has made the device has the addresses.
func uplink(i int) Uplink {
	third, fourth := byte(i/64), byte(i%64*4)
	return Uplink{
		Device: fmt.Sprintf("skt%d", i),
		Host:   netip.AddrFrom4([4]byte{10, 202, third, fourth + 1}),
		Inside: netip.AddrFrom4([4]byte{10, 202, third, fourth + 2}),
	}
}

// Connect makes an uplink for a namespace, the first that is free.
func Connect(ctx context.Context, namespace string) (Uplink, error) {
	for i := range maxUplinks {
		u := uplink(i)
		if !u.free() {
			continue
		}
		// The kernel makes both ends or none, and one device of a name.
		err := IP(ctx, "link", "add", u.Device, "type", "veth", "peer", "name", UplinkDevice, "netns", namespace)
		if errors.Is(err, ErrExists) {
			continue
		}
		if err != nil {
			return Uplink{}, err
		}
		return u, u.configure(ctx, namespace)
	}
	return Uplink{}, errors.New("every network of 10.202.0.0/16 is in use")
}

func (u Uplink) configure(ctx context.Context, namespace string) error {
	for _, args := range [][]string{
		// So that "ip link" tells whose it is.
		{"link", "set", u.Device, "alias", namespace},
		{"addr", "add", fmt.Sprintf("%s/%d", u.Host, uplinkPrefix), "dev", u.Device},
		{"link", "set", u.Device, "up"},
		{"-n", namespace, "addr", "add", fmt.Sprintf("%s/%d", u.Inside, uplinkPrefix), "dev", UplinkDevice},
		{"-n", namespace, "link", "set", UplinkDevice, "up"},
	} {
		if err := IP(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// free says whether there is no such device and no other interface of the host
// has an address in its network.
func (u Uplink) free() bool {
	network := netip.PrefixFrom(u.Host, uplinkPrefix).Masked()
	interfaces, err := net.Interfaces()
	if err != nil {
		return false
	}
	for _, link := range interfaces {
		if link.Name == u.Device {
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
