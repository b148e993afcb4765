package tunneltest

import (
	"net"
	"sync"
	"testing"
)

// A port is nobody else's: not another test's, not one of the kernel's choice, and not one that
// somebody has on all addresses.
func TestAnyPortIsNobodyElses(t *testing.T) {
	first := AnyPort()
	_, port, err := net.SplitHostPort(first)
	if err != nil {
		t.Fatal(err)
	}
	if port < "10000" || port >= "30000" {
		t.Errorf("the kernel may give port %s to others", port)
	}
	for range 3 {
		l, err := net.Listen("tcp", first)
		if err != nil {
			t.Fatal(err)
		}
		packet, err := net.ListenPacket("udp", first)
		if err != nil {
			t.Fatal(err)
		}
		packet.Close()
		l.Close()
	}
	var mu sync.Mutex
	seen, all := map[string]bool{first: true}, sync.WaitGroup{}
	for range 20 {
		all.Go(func() {
			port := AnyPort()
			mu.Lock()
			defer mu.Unlock()
			if seen[port] {
				t.Errorf("%s was given twice", port)
			}
			seen[port] = true
		})
	}
	all.Wait()
}

func TestPortsOfOthersAreLeft(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		address := AnyPort()
		if network == "tcp" {
			l, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		} else {
			l, err := net.ListenPacket(network, address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		if free(address) {
			t.Errorf("%s is free, with a listener of %s", address, network)
		}
	}
}
