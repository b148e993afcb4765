// Package tcp is the tunnel's transport where UDP does not get through: mutual TLS 1.3 on TCP, with
// a stream multiplexer of its own.
//
//	conn, err := tcp.Dial(ctx, address, cfg)  // directly, or through a proxy
//	l := tcp.Listen(cfg)                      // gets connections whose handshake is done
//
// The multiplexer offers what QUIC's streams offer. It has flow control for each stream and for all
// together. A stream can be reset, and a close carries a reason. An idle connection costs only its
// maps. frame.go and tunnel/PROTOCOL.md list the bytes.
//
// No library fits. The library yamux cannot reset one stream, and accepts no window below 256 KiB.
// It bounds neither the streams nor the bytes of all of them, and closes without a reason. HTTP/2
// has all of that; it costs a framer, header tables and two more goroutines for each connection.
//
// It does not know what the streams carry.
package tcp
