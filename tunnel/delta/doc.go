// Package delta keeps a receiver's durable copy (store.Sink) equal to a sender's store.Feed over
// one ordered stream. Both directions and every tier run this code.
//
// Its nouns are the position, which says how far a copy has got, and the batch of entries between
// two positions. A comparison of digests finds differences where there is no common position.
//
//	err := delta.Send(ctx, stream, feed, delta.Down(delta.WAN))         // one side
//	err := delta.Receive(ctx, stream, sink, delta.ReceiveOptions{...})  // the other side
//
// The life of a stream:
//
//  1. The receiver says its position and root digest, the sender says its own.
//  2. The sender continues from that position. If it cannot, it asks for digests and sends only
//     what differs.
//  3. It follows its feed: each batch is sent, committed in one transaction, and acknowledged.
//  4. An acknowledged batch is durable. The sender frees its bytes in flight and learns the
//     position.
//
// Only the sender decides what is deleted. A receiver whose copy came from other data holds: it
// stores nothing, and only answers how it differs ([Held]).
//
// No goroutine outlives Send or Receive. Neither reconnects. The bytes are in tunnel/PROTOCOL.md.
//
// Lock order: Recheck.mu, then inbound.mu. No other locks of this package nest. A Regulator and a
// feed notify without a lock of theirs; what they notify must not wait.
package delta

import (
	"errors"
	"io"
)

// Stream is what delta needs of a connection: an ordered byte stream that can be cut from this
// side.
type Stream interface {
	io.Reader
	io.Writer
	// Cancel ends both halves at once; a blocked Read or Write returns an error.
	Cancel()
}

// ErrHeld is returned by Send when the receiver does not obey this feed: store.ErrRegressed on its
// side.
var ErrHeld = errors.New("the receiver holds: it does not take this center for the one that its data came from")

// ErrReleased is returned by Receive when it held and holds no more: its copy is equal to the feed
// of now. Begin anew on another stream.
var ErrReleased = errors.New("the sender is followed again: what it has is what is here")

// errBase is returned by Receive when a patch does not fit what is stored. The next stream begins
// with whole bodies.
var errBase = errors.New("the base of a patch is not stored")
