package tunneltest

import (
	"net"
	"os"
)

// Loopback is an address of loopback that is this process's own. A port of it is still free when it
// is listened on again: what other processes connect from, and what other tests listen on, has
// other addresses.
func Loopback() net.IP {
	pid := os.Getpid()
	return net.IPv4(127, byte(128+pid>>16&0x3f), byte(pid>>8), byte(pid))
}

// AnyPort is a free port of Loopback, as an address to listen on.
func AnyPort() string { return net.JoinHostPort(Loopback().String(), "0") }
