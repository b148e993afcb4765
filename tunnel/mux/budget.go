package mux

import "sync"

// Budget is how many bytes the windows of all data connections of a process may promise together. A
// nil Budget has no limit. Its methods may be called concurrently.
type Budget struct {
	mu    sync.Mutex
	total int
	used  int
	child int // of used: by streams that children have opened
}

// MaxBudget is what a Budget may have, in bytes: a quarter of the window of a data connection.
const MaxBudget = dataWindow / 4

// NewBudget returns a budget of so many bytes, MaxBudget at most.
func NewBudget(bytes int) *Budget { return &Budget{total: min(bytes, MaxBudget)} }

// The shares of a budget. What only makes a stream faster leaves a quarter to new streams, and what
// children open leaves a half to what is opened to them.
const (
	extraShare = 0.75
	childShare = 0.5
)

// TakeExtra takes bytes that only make a connection faster. It reports whether there are as many.
func (b *Budget) TakeExtra(n int) bool { return b.take(n, extraShare, false) }

// Release gives back what TakeExtra took.
func (b *Budget) Release(n int) { b.release(n, false) }

// take takes bytes within a share of the budget, for a stream that a child has opened or not. It
// reports whether there are as many.
func (b *Budget) take(n int, share float64, child bool) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if float64(b.used+n) > share*float64(b.total) ||
		child && float64(b.child+n) > share*childShare*float64(b.total) {
		return false
	}
	b.used += n
	if child {
		b.child += n
	}
	return true
}

// release gives bytes back.
func (b *Budget) release(n int, child bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if child {
		b.child -= n
	}
}

// Used is how many bytes are taken.
func (b *Budget) Used() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
