// Package tcp is the tunnel's transport where UDP does not get through: mutual TLS 1.3 on TCP, with
// the streams of package mux.
//
//	conn, err := tcp.Dial(ctx, address, cfg)  // directly, or through a proxy
//	l := tcp.Listen(cfg)                      // gets connections whose handshake is done
//
// It does not know what the streams carry.
package tcp
