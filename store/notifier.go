package store

import (
	"slices"
	"sync"
)

// Notifier calls functions when something has changed. The zero value is ready. All methods may be
// called concurrently.
type Notifier struct {
	mu sync.Mutex
	on []*func()
}

// Subscribe calls f at each change until off is called. When off has returned, f does not run. f must not
// block, and must not call the Notifier.
func (n *Notifier) Subscribe(f func()) (off func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.on = append(n.on, &f)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.on = slices.DeleteFunc(n.on, func(other *func()) bool { return other == &f })
	}
}

// Notify calls every function.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.on {
		(*f)()
	}
}
