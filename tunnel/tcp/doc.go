<<<<<<< HEAD
// Package tcp is the tunnel's transport where UDP does not get through: mutual TLS 1.3 on TCP, with
// the streams of package mux.
//
//	conn, err := tcp.Dial(ctx, address, cfg)  // directly, or through a proxy
//	l := tcp.Listen(cfg)                      // gets connections whose handshake is done
//
// A session's connection carries its streams by package mux, with small windows. A data connection
// is handed over as it is, see package data. It does not know what the streams carry.
=======
// Package tcp is the tunnel's transport where UDP does not get through: mutual TLS 1.3 on TCP. A
// session's connection carries its streams by package mux, with small windows. A data connection is
// handed over as it is, see package data. The agent's uplink dials, directly or through a proxy;
// the center's port hands in connections whose handshake is done. It knows nothing of what the
// streams carry.
>>>>>>> a5d5cff (tunnel/tcp, server/listen: say what a data connection is to them)
package tcp
