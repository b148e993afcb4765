package mux

import "sync"

// Budget is how many bytes the windows of all data connections of a process may promise together. A
// nil Budget has no limit. Its methods may be called concurrently.
type Budget struct {
	mu    sync.Mutex
	total int
	used  int
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int) *Budget { return &Budget{total: bytes} }

// Take takes bytes that a new stream must have. It reports whether there are as many.
func (b *Budget) Take(n int) bool { return b.take(n, 1) }

// TakeExtra takes bytes that only make a stream faster. It leaves a quarter of the budget to new
// streams.
func (b *Budget) TakeExtra(n int) bool { return b.take(n, 0.75) }

func (b *Budget) take(n int, share float64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if float64(b.used+n) > share*float64(b.total) {
		return false
	}
	b.used += n
	return true
}

// Release gives bytes back.
func (b *Budget) Release(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
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
