package store

import (
	"context"
	"errors"
)

// ErrRegressed is returned for a sender of another incarnation than the receiver's copy was made
// of, or whose revision went back. The copy stays as it is.
var ErrRegressed = errors.New("the sender's data is not the data that this copy was made of")

// ErrGone is returned by a BodyFunc for a key that has no value any more.
var ErrGone = errors.New("the object is gone")

// Comparing is the Revision of a copy that is being compared with its sender by digests: it has
// reached no revision yet.
const Comparing int64 = -1

// Sink is a receiver's durable copy of one sender's feed. Commit is called by one goroutine at a
// time; the other methods may be called at any time.
type Sink interface {
	Digested
	// Position is how far the copy has durably got; the zero Position means that it is empty and
	// new.
	Position() Position
	// Admit returns nil if a sender whose newest position is head may continue this copy, or
	// ErrRegressed. It is called at the start of every exchange, before anything is stored.
	Admit(head Position) error
	// Accept lets the copy continue with a sender that Admit refuses, from the next comparison on:
	// a person has decided so, or there is nothing to lose. Only the position changes: it becomes
	// head with the revision Comparing.
	Accept(head Position) error
	// Commit stores the entries and the position in one transaction and returns when both are
	// durable. An entry that is older than what is stored under its key, or equal to it, changes
	// nothing. Commit returns ErrRegressed where Admit would.
	Commit(ctx context.Context, b Batch) error
}
