package tunneltest

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// Loopback is an address of loopback that is this process's own. Other processes use others.
func Loopback() net.IP {
	pid := os.Getpid()
	return net.IPv4(127, byte(128+pid>>16&0x3f), byte(pid>>8), byte(pid))
}

// The ports of AnyPort. The kernel gives none of them to somebody who asks for any port, because its
// own begin at 32768 (net.ipv4.ip_local_port_range).
const firstPort, ports = 10000, 20000

// given counts the ports that AnyPort gave to the tests of this process.
var given atomic.Uint32

// AnyPort is a port of Loopback that is free for TCP and for UDP, as an address to listen on. Nobody
// else gets it while the process runs: a test may close it, and listen there again, or expect that
// nobody answers.
func AnyPort() string {
	for tried := 1; ; tried++ {
		port := firstPort + int(given.Add(1)-1)%ports
		address := net.JoinHostPort(Loopback().String(), strconv.Itoa(port))
		if free(address) || tried == ports {
			return address // the caller's own Listen says what is wrong with the last
		}
	}
}

// free reports whether nobody listens on an address, nor on its port of all addresses.
func free(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer l.Close()
	packet, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	packet.Close()
	return true
}
