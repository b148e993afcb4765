package tunnel

import (
	"net"
	"testing"
)

func TestSourceOf(t *testing.T) {
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.1/32",
		"::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%1": "fe80::/64"} {
		ip, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(address, "1"))
		if err != nil {
			t.Fatal(err)
		}
		if got := SourceOf(ip).String(); got != want {
			t.Errorf("%s counts for %s, want %s", address, got, want)
		}
	}
}
