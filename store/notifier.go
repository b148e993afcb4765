package store

import (
	"slices"
	"sync"
)

// Bell calls those who want to know that something has changed. The zero value has nobody to call.
// All methods may be called concurrently.
type Bell struct {
	mu sync.Mutex
	on []*func()
}

// On has f called at each ring, until off is called; when off has returned, f does not run. It must
// not block, and not use the bell.
func (b *Bell) On(f func()) (off func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = append(b.on, &f)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.on = slices.DeleteFunc(b.on, func(other *func()) bool { return other == &f })
	}
}

// Ring calls everybody.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.on {
		(*f)()
	}
}
