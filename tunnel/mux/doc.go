// Package mux carries many streams over one ordered byte stream: a TLS connection, or a single stream
// of QUIC. It is what QUIC's streams are: flow control for each stream and for all together, streams
// that can be given up, a close that says why, and nothing held for an idle connection but its maps.
// frame.go lists the bytes.
//
// A Profile says how much a peer can make this side hold. Sync is for the session over TCP: small
// windows that never grow. Data is for what reaches into a site: each stream begins with a small window
// that grows while its reader keeps up, out of a Budget that the process has for all of them. Windows of
// all streams together never exceed that of the connection, so a stream that nobody reads stops no other.
package mux
