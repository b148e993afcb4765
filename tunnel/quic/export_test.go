package quic

import "skerry.dev/skerry/tunnel"

// Packets is how many packets a connection has sent and received; each is a datagram once the handshake is over.
func Packets(c tunnel.Conn) (sent, received uint64) {
	s := c.(*conn).quic.ConnectionStats()
	return s.PacketsSent, s.PacketsReceived
}
