package crd

import "sync"

// changes wakes those who wait for a definition, or for the discovery of a Server, to change.
type changes struct {
	mu   sync.Mutex
	next chan struct{} // closed at the next change
}

func newChanges() *changes { return &changes{next: make(chan struct{})} }

// wait returns a channel that the next change closes. Who looks for something asks for it before it
// looks, so that no change is missed.
func (c *changes) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// announce wakes all who wait. It takes no other lock.
func (c *changes) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}
