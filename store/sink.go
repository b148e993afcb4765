package store

import (
	"context"
	"errors"
)

// ErrRegressed is returned when a sender's incarnation is another one than the receiver's copy was made of, or when its
// revision went back. The receiver holds what it has.
var ErrRegressed = errors.New("the sender's data is not the data that this copy was made of")

// ErrGone is returned by a BodyFunc whose key has no value any more.
var ErrGone = errors.New("the object is gone")

// Sink is a receiver's durable copy of one sender's feed. Commit is called by one goroutine at a time; the other methods
// may be called at any time.
type Sink interface {
	Digested
	// Position is how far the copy has durably got; the zero Position means that it is empty and new.
	Position() Position
	// Commit stores the entries and the position in one transaction and returns when both are durable. Entries whose
	// revision is not newer than what is stored under their key change nothing.
	Commit(ctx context.Context, b Batch) error
}
