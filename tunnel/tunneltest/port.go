package tunneltest

import (
	"crypto/tls"
	"net"
	"testing"

	"skerry.dev/skerry/tunnel/tcp"
)

// Port does the TLS handshakes of a test's center, one after the other, and drops those that fail.
type Port struct {
	net.Listener
	Config *tls.Config
}

// Accept implements net.Listener.
func (p Port) Accept() (net.Conn, error) {
	for {
		raw, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := tls.Server(tcp.NewMeter(raw), p.Config)
		if c.Handshake() == nil {
			return c, nil
		}
		raw.Close()
	}
}

// ListenWhereUDPIsFree listens on a TCP port of Loopback whose number nobody has for UDP.
func ListenWhereUDPIsFree(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	return l
}
