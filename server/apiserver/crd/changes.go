package crd

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/cache"
)

// changes wakes those who wait for a definition to change: in the store, as a Server knows it, or
// in the discovery of a Server.
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

// handler announces every change of the definitions that an informer knows.
func (c *changes) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.announce() },
		UpdateFunc: func(old, is any) { // an informer repeats itself every few minutes
			before, ok := old.(*apiextensionsv1.CustomResourceDefinition)
			after, same := is.(*apiextensionsv1.CustomResourceDefinition)
			if !ok || !same || before.ResourceVersion != after.ResourceVersion {
				c.announce()
			}
		},
		DeleteFunc: func(any) { c.announce() },
	}
}
