package store

import (
	"slices"
	"sync"
)

// Bell calls functions when something has changed. The zero value is ready. All methods may be
// called concurrently.
type Bell struct {
	mu sync.Mutex
	on []*func()
}

// On calls f at each change until off is called. When off has returned, f does not run. f must not
// block, and must not call the Bell.
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

// Ring calls every function.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.on {
		(*f)()
	}
}
