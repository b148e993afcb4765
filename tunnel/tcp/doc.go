// Package tcp is the tunnel's transport where UDP does not get through: mutual TLS 1.3 on TCP, with
// the streams of package mux.
//
//	conn, err := tcp.Dial(ctx, address, cfg)  // directly, or through a proxy
//	l := tcp.Listen(cfg)                      // gets connections whose handshake is done
//
// A session's connection carries its streams by package mux, with small windows. A data connection
// is handed over as it is, see package data. It does not know what the streams carry.
package tcp
