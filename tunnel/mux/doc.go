// Package mux carries many streams over one ordered byte stream: a TLS connection, or a single
// stream of QUIC. It offers what QUIC's streams offer: flow control for each stream and for all
// together, streams that can be reset, and a close that carries a reason. An idle connection costs
// only its maps. frame.go and tunnel/PROTOCOL.md list the bytes.
//
// A Profile says how much a peer can make this side hold. Sync is for the session over TCP: small
// windows that never grow. Data is for what reaches into a site: a stream begins with a small
// window, which grows while its reader keeps up, out of a Budget that the process has for all of
// them. The windows of all streams never exceed that of the connection, so a stream that nobody
// reads stops no other.
//
// No library fits. The library yamux cannot reset one stream, and accepts no window below 256 KiB.
// It bounds neither the streams nor the bytes of all of them, and closes without a reason. HTTP/2
// has all of that; it costs a framer, header tables and two more goroutines for each connection.
//
// Lock order: Conn.writing, Conn.mu, Budget.mu.
package mux
