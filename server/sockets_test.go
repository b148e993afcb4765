package server

import (
	"net"
	"testing"
)

// Other machines get what is advertised, also from a center that listens on one address. This machine
// goes to where it listens.
func TestAdvertisedFirst(t *testing.T) {
	for _, c := range []struct {
		bound       string
		advertise   []string
		best, local string
	}{
		{"10.9.8.7:7443", []string{"c.example.com", "d.example.com"}, "c.example.com:7443", "10.9.8.7:7443"},
		{"10.9.8.7:7443", nil, "10.9.8.7:7443", "10.9.8.7:7443"},
		{"0.0.0.0:7443", []string{"c.example.com"}, "c.example.com:7443", "127.0.0.1:7443"},
	} {
		bound, err := net.ResolveTCPAddr("tcp", c.bound)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachedBy(bound, Config{Advertise: c.advertise}); got[0] != c.best || localAddress(bound) != c.local {
			t.Errorf("%s, %v: %v and %s here", c.bound, c.advertise, got, localAddress(bound))
		}
	}
}
