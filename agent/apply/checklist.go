package apply

import (
	"sync"

	"skerry.dev/skerry/store"
)

// checklist closes done when each key of a set was ticked.
type checklist struct {
	mu   sync.Mutex
	open map[store.Key]bool
	done chan struct{}
}

// start gives the set. It is called once.
func (c *checklist) start(keys map[store.Key]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = keys
	if len(keys) == 0 {
		close(c.done)
	}
}

func (c *checklist) complete(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open[k] {
		return
	}
	delete(c.open, k)
	if len(c.open) == 0 {
		c.open = nil
		close(c.done)
	}
}
