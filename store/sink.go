package store

import (
	"context"
	"errors"
)

// ErrRegressed is returned when a sender's incarnation is another one than the receiver's copy was
// made of, or when its revision went back. The receiver holds what it has.
var ErrRegressed = errors.New("the sender's data is not the data that this copy was made of")

// ErrGone is returned by a BodyFunc whose key has no value any more.
var ErrGone = errors.New("the object is gone")

// Comparing is the Revision of a Position whose copy is being brought in line with a sender by
// digests: no revision is reached yet.
const Comparing int64 = -1

// Sink is a receiver's durable copy of one sender's feed. Commit is called by one goroutine at a
// time; the other methods may be called at any time.
type Sink interface {
	Digested
	// Position is how far the copy has durably got; the zero Position means that it is empty and
	// new.
	Position() Position
	// Admit tells whether a sender whose newest position is head may continue this copy: nil, or
	// ErrRegressed. It is called at the start of every exchange, before anything is stored.
	Admit(head Position) error
	// Accept makes the copy go on with a sender that Admit refuses, from the next comparison on: a
	// person decided so, or there is nothing to lose. Nothing but the position changes: it is head
	// with the revision Comparing.
	Accept(head Position) error
	// Commit stores the entries and the position in one transaction and returns when both are
	// durable. An entry that is older than what is stored under its key, or equal to it, changes
	// nothing. Commit returns ErrRegressed where Admit would.
	Commit(ctx context.Context, b Batch) error
}
