package catalog

import (
	"sync"
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel/boottime"
	"skerry.dev/skerry/tunnel/lease"
)

// Leases are what may be counted on when a target is not heard. Package sessions grants and notes them;
// package delivery asks before something that must not run twice leaves a target that is away. It has a lock of
// its own, which is never held while anybody else is called.
type Leases struct {
	mu     sync.Mutex
	ledger *lease.Ledger // nil before this center lets agents in
	of     map[string]Lease
}

// Lease is what there is of one target's lease.
type Lease struct {
	Wanted   bool // its SyncTarget wants one that stops
	Refused  bool // its site refuses that
	Recorded lease.Record
}

// NewLeases returns Leases on which nobody may count before Begin.
func NewLeases() *Leases { return &Leases{of: map[string]Lease{}} }

// Begin counts from a time of boottime on: until then another replica may have renewed leases.
func (l *Leases) Begin(now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger = lease.NewLedger(now)
}

// Set takes over what there is of a target's lease.
func (l *Leases) Set(target string, is Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[target] = is
}

// Granted notes that a target is granted its lease anew, before it is told. Begin has been called.
func (l *Leases) Granted(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger.Answered(target, boottime.Now())
}

// Forget drops a target that is gone.
func (l *Leases) Forget(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, target)
	if l.ledger != nil {
		l.ledger.Forget(target)
	}
}

// Rename gives what is known of a target to another name of it.
func (l *Leases) Rename(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	RenameIn(l.of, from, to)
	if l.ledger != nil {
		l.ledger.Rename(from, to)
	}
}

// Lease returns the lease of a target as far as failover counts on it. grace is what it takes to stop what is
// there.
func (l *Leases) Lease(target string, grace time.Duration) placement.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	is, known := l.of[target]
	switch {
	case !known || l.ledger == nil:
		return placement.Lease{}
	case !is.Recorded.Fences():
		return placement.Lease{Wanted: is.Wanted, Refused: is.Refused}
	}
	left := l.ledger.Ends(target, is.Recorded, grace) - boottime.Now()
	return placement.Lease{Wanted: is.Wanted, Held: true, Ends: time.Now().Add(left)}
}
