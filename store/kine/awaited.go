package kine

import (
	"sync"

	"github.com/k3s-io/kine/pkg/server"
)

// backend is kine's, and knows when nobody waits for its poll loop any more.
type backend interface {
	server.Backend
	quiesce()
}

// awaitedBackend counts the calls that wait for kine's poll loop. They can only return while that loop runs.
type awaitedBackend struct {
	server.Backend
	syncing sync.WaitGroup
}

func (b *awaitedBackend) WaitForSyncTo(revision int64) {
	b.syncing.Add(1)
	defer b.syncing.Done()
	b.Backend.WaitForSyncTo(revision)
}

// quiesce returns when nobody waits for the poll loop; its turns are a second apart at most.
func (b *awaitedBackend) quiesce() { b.syncing.Wait() }
