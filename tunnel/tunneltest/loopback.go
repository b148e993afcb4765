package tunneltest

import (
	"net"
	"os"
)

// Loopback is an address of loopback that is this process's own. A port of it stays free for a
// second listener, because other processes and other tests use other addresses.
func Loopback() net.IP {
	pid := os.Getpid()
	return net.IPv4(127, byte(128+pid>>16&0x3f), byte(pid>>8), byte(pid))
}

// AnyPort is a free port of Loopback, as an address to listen on.
func AnyPort() string { return net.JoinHostPort(Loopback().String(), "0") }
