package kine

import (
	"context"
	"sync"

	"github.com/k3s-io/kine/pkg/server"
)

// serialBackend lets one write at a time into SQLite, which has a single writer anyway: waiting in a Go queue is fair and cheap,
// waiting in SQLite's busy handler is neither.
type serialBackend struct {
	server.Backend
	writes sync.Mutex
	// syncing counts calls that wait for kine's poll loop. They can only return while that loop runs.
	syncing sync.WaitGroup
}

func (b *serialBackend) Create(ctx context.Context, key string, value []byte, lease int64) (int64, error) {
	b.writes.Lock()
	defer b.writes.Unlock()
	return b.Backend.Create(ctx, key, value, lease)
}

func (b *serialBackend) Update(ctx context.Context, key string, value []byte, revision, lease int64) (int64, *server.KeyValue, bool, error) {
	b.writes.Lock()
	defer b.writes.Unlock()
	return b.Backend.Update(ctx, key, value, revision, lease)
}

func (b *serialBackend) Delete(ctx context.Context, key string, revision int64) (int64, *server.KeyValue, bool, error) {
	b.writes.Lock()
	defer b.writes.Unlock()
	return b.Backend.Delete(ctx, key, revision)
}

func (b *serialBackend) WaitForSyncTo(revision int64) {
	b.syncing.Add(1)
	defer b.syncing.Done()
	b.Backend.WaitForSyncTo(revision)
}

// quiesce returns when nobody waits for the poll loop; its turns are a second apart at most.
func (b *serialBackend) quiesce() { b.syncing.Wait() }
