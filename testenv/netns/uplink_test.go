package netns

import (
	"net/netip"
	"testing"
)

func TestUplinksDoNotOverlap(t *testing.T) {
	all := netip.MustParsePrefix("10.202.0.0/16")
	devices := map[string]bool{}
	networks := map[netip.Prefix]bool{}
	for i := range maxUplinks {
		u := uplink(i)
		network := netip.PrefixFrom(u.Host, uplinkPrefix).Masked()
		if !all.Contains(u.Host) || !network.Contains(u.Inside) || u.Host == u.Inside || u.Host == network.Addr() {
			t.Fatalf("uplink %d: %+v", i, u)
		}
		if len(u.Device) > 15 {
			t.Fatalf("%s: a device's name has at most 15 bytes", u.Device)
		}
		if devices[u.Device] || networks[network] {
			t.Fatalf("uplink %d shares %s or %s", i, u.Device, network)
		}
		devices[u.Device], networks[network] = true, true
	}
}
