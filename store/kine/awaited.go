package kine

import (
	"sync"

	"github.com/k3s-io/kine/pkg/server"
)

// backend is kine's, and knows when nobody waits for its watches any more.
type backend interface {
	server.Backend
	quiesce()
}

// awaitedBackend counts the calls that wait until watches have got what there is: that of kine's poll loop can only return while the loop runs.
type awaitedBackend struct {
	server.Backend
	syncing sync.WaitGroup
}

func (b *awaitedBackend) WaitForSyncTo(revision int64) {
	b.syncing.Add(1)
	defer b.syncing.Done()
	b.Backend.WaitForSyncTo(revision)
}

// quiesce returns when nobody waits; the turns of the poll loop are a second apart at most.
func (b *awaitedBackend) quiesce() { b.syncing.Wait() }
