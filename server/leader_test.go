package server

import (
	"net"
	"testing"
)

// TestReplicaAddress: the address in the Lease is where others reach this one.
func TestReplicaAddress(t *testing.T) {
	for name, c := range map[string]struct{ configured, bound, want string }{
		"configured":     {"ten.example:7444", "127.0.0.1:7443", "ten.example:7444"},
		"one address":    {"", "10.1.2.3:7443", "10.1.2.3:7443"},
		"an IPv6":        {"", "[2001:db8::1]:7443", "[2001:db8::1]:7443"},
		"only this host": {"", "127.0.0.1:7443", "127.0.0.1:7443"},
	} {
		bound, err := net.ResolveTCPAddr("tcp", c.bound)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := replicaAddress(c.configured, bound); got != c.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	l := newLeadership("me", nil, nil)
	other := replicaIdentity("https://center.example:7443", "10.1.2.3:7443")
	l.leader.Store(&other)
	if l.address() != "10.1.2.3:7443" || l.url() != "https://center.example:7443" {
		t.Errorf("%q, %q", l.address(), l.url())
	}
	l.leader.Store(&l.identity)
	if l.address() != "" {
		t.Error("it passes to itself")
	}
}
