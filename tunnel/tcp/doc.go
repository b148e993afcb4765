// Package tcp is the tunnel's transport where UDP does not get through: mutual TLS 1.3 on TCP, with a stream multiplexer of its own on it.
// The multiplexer is what QUIC's streams are: flow control for each stream and for all together, streams that can be given up, a close
// that says why, and nothing held for an idle connection but its maps (frame.go lists the bytes). Agent's uplink dials, directly or through a proxy; the center's
// port hands in connections whose handshake is done. It knows nothing of what the streams carry.
package tcp
