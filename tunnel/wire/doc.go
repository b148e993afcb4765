// Package wire encodes and decodes the bytes of the tunnel.
//
// Its nouns are the frame (type, length, payload), the messages of a delta stream, the batch of
// entries, and the patch between two bodies.
//
//	t, payload, err := wire.ReadFrame(r, wire.MaxFrame)
//	resume, err := wire.DecodeResume(payload)
//	patch, ok := wire.MakePatch(base, next)
//	next, err := wire.ApplyPatch(base, patch)
//
// Everything that a peer sends is checked against the limits before memory is allocated for it.
// Bytes that break the protocol are [ErrMalformed]. Every decoder is fuzzed.
//
// It never waits and keeps no connection. An [Encoder] and a [Decoder] belong to one stream: the
// slots of keys and the codec are its state. The byte tables are in tunnel/PROTOCOL.md.
package wire
