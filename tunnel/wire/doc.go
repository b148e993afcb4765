// Package wire is the bytes of the tunnel: frames, the messages of a delta stream, batches of entries and patches between two
// versions of a body. It does no waiting and keeps no connection; delta and the session use it. Whatever a peer sends is checked against
// the limits before memory is taken for it, and every decoder is fuzzed. The byte tables stand in tunnel/README.md.
package wire
