// Package quic is the tunnel's transport over QUIC: mutual TLS 1.3 on one UDP port.
//
// Its nouns are the [Listener] of a center, and the connections that [Dial] and Accept return
// (tunnel.Conn). A heartbeat is a datagram that crosses beside QUIC on the same socket.
//
//	l, err := quic.Listen(cfg)                 // center
//	conn, err := quic.Dial(ctx, address, cfg)  // child
//
// A connection has a handful of long-lived streams and small windows, so that a center can have
// thousands of them. Heartbeats wake neither QUIC nor a goroutine of the center: the goroutine that
// reads the socket answers them. Before a handshake, [Limits] bound what strangers can cost.
// tunnel/PROTOCOL.md has the bytes of heartbeats, tunnel/OPERATIONS.md their times.
//
// It does not know what the streams carry.
package quic
