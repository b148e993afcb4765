package quic

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// Packets is how many packets a connection has sent and received; each is a datagram once the handshake is over.
func Packets(c tunnel.Conn) (sent, received uint64) {
	s := c.(*conn).quic.ConnectionStats()
	return s.PacketsSent, s.PacketsReceived
}

// DialOver is Dial over a socket that a test has made.
func DialOver(ctx context.Context, socket net.PacketConn, to net.Addr, config *tls.Config) (tunnel.Conn, error) {
	transport := &quicgo.Transport{Conn: socket}
	q, err := transport.Dial(ctx, to, config, childConfig(0))
	if err != nil {
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	return newConn(q, tunnel.Identity{}, func() { _ = transport.Close() }), nil
}

// SignBytes is signBytes.
const SignBytes = signBytes
