// Package delta is the protocol of the tunnel: it keeps a receiver's durable copy (store.Sink) equal to a sender's store.Feed over one
// ordered stream, for ever. Send and Receive are used by both directions and every tier. The receiver says what it has; the sender
// continues from that position, or compares digests and sends only what differs; then it follows its feed. Only the sender
// decides what is deleted. A receiver that does not obey its sender holds: it stores nothing, and only answers how it differs. It starts no goroutine that outlives Send or Receive and never reconnects: that is its caller's.
// The bytes are described in tunnel/README.md.
package delta

import (
	"errors"
	"io"
)

// Stream is what delta needs of a connection: an ordered byte stream that can be cut from this side.
type Stream interface {
	io.Reader
	io.Writer
	// Cancel ends both halves at once; a blocked Read or Write returns an error.
	Cancel()
}

// ErrHeld is returned by Send when the receiver does not obey this feed: store.ErrRegressed on its side.
var ErrHeld = errors.New("the receiver holds: it does not take this center for the one that its data came from")

// ErrReleased is returned by Receive when it held and holds no more: its copy is equal to the feed of now. Begin anew on another stream.
var ErrReleased = errors.New("the sender is followed again: what it has is what is here")

// errBase is returned by Receive when a patch does not fit what is stored. The next stream begins with whole bodies.
var errBase = errors.New("the base of a patch is not stored")
