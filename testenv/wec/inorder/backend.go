// Package inorder stands between kine's etcd API and its backends, and makes
// true what an API server takes for granted of etcd: a watch has every event
// once and in the order of revisions, and who is told that he has all events
// up to a revision has them.
//
// kine v0.16.4 keeps neither promise:
//
//   - The memory backend finds its place in its log by subtracting the revision
//     up to which it was compacted (logIndexAfter), but Compact leaves one entry
//     more in the log than that takes for granted. After n compactions every
//     watch gets its last n events again with each new one. A pod that a watch
//     cache sees bound, then unbound, then bound again ends kube-scheduler:
//     "Pod updated on a different node than previously added to cache".
//   - Progress (KVServerBridge.ProgressAll, ProgressIfSynced) takes a watch that
//     waits for its channel for one that has all events. The memory backend
//     hands events on by another goroutine, and its WaitForSyncTo does not wait
//     for that; with SQL events pass four goroutines after WaitForSyncTo. A
//     watch cache that trusts such a progress answers consistent reads with
//     what was before the write.
//   - A list of SQL that finds nothing asks for the revision afterwards: what
//     was created in between is neither in the list nor in the watch from there.
//     The same goes for a list in pages, whose rest is counted afterwards.
//     The revision that it remembers also stays behind when writes overlap.
//
// A fourth one is not mended here and does no harm: watches of one client claim
// each other's progress (server.Send). An API server has a client a resource.
//
// Here one watch of kine's, of all keys, feeds all others by method calls: what
// it finds again is dropped, and an event is in the channel of every watch
// before its revision counts as reached.
package inorder

import (
	"context"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/server"
)

// Wrap has a driver of kine make backends in order.
func Wrap(driver drivers.Constructor) drivers.Constructor {
	return func(ctx context.Context, wg *sync.WaitGroup, cfg *drivers.Config,
	) (bool, server.Backend, error) {
		elect, inner, err := driver(ctx, wg, cfg)
		if err != nil || inner == nil {
			return elect, inner, err
		}
		return elect, New(inner), nil
	}
}

// Backend is one of kine's with watches of its own.
type Backend struct {
	server.Backend
	feed *feed
}

// New wraps a backend that has not been started.
func New(inner server.Backend) *Backend {
	return &Backend{Backend: inner, feed: newFeed()}
}

// Start starts the backend, and what feeds its watches until ctx ends.
func (b *Backend) Start(ctx context.Context) error {
	if err := b.Backend.Start(ctx); err != nil {
		return err
	}
	go b.run(ctx)
	return nil
}

// all reads everything that was not handed on yet. Where that was compacted,
// watches end: what is lost is not told to them.
func (b *Backend) all(ctx context.Context) <-chan []*server.Event {
	result := b.Backend.Watch(ctx, "", "", b.feed.reached()+1)
	if result.CompactRevision > 0 {
		b.feed.restart(result.CompactRevision)
		result = b.Backend.Watch(ctx, "", "", result.CompactRevision+1)
	}
	return result.Events
}

func (b *Backend) run(ctx context.Context) {
	defer b.feed.end()
	for ctx.Err() == nil {
		for found := range b.all(ctx) {
			b.feed.publish(found)
		}
		select {
		case <-time.After(100 * time.Millisecond): // it did not answer in time
		case <-ctx.Done():
		}
	}
}

// Watch gives what is written to a range of keys from a revision on.
func (b *Backend) Watch(ctx context.Context, key, end string, from int64) server.WatchResult {
	newest, err := b.CurrentRevision(ctx)
	if err != nil {
		failed, none := make(chan error, 1), make(chan []*server.Event)
		failed <- err
		close(none)
		return server.WatchResult{Events: none, Errorc: failed}
	}
	if from == 0 {
		from = newest + 1
	}
	return b.feed.watch(ctx, key, end, from)
}

// CurrentRevision is the revision of the newest write that was acknowledged.
func (b *Backend) CurrentRevision(ctx context.Context) (int64, error) {
	newest, err := b.Backend.CurrentRevision(ctx)
	return max(newest, b.feed.reached()), err
}

// WaitForSyncTo returns when all watches have been given everything up to a
// revision.
func (b *Backend) WaitForSyncTo(revision int64) { b.feed.wait(revision) }

// Compact forgets what was before a revision.
func (b *Backend) Compact(ctx context.Context, revision int64) (int64, error) {
	newest, err := b.Backend.Compact(ctx, revision)
	if err == nil {
		b.feed.forget(revision)
	}
	return newest, err
}

// List is of one revision, also when it is empty.
func (b *Backend) List(ctx context.Context, key, end string, limit, revision int64, keysOnly bool,
) (int64, []*server.KeyValue, error) {
	at, found, err := b.Backend.List(ctx, key, end, limit, revision, keysOnly)
	if err == nil && revision == 0 && len(found) == 0 {
		_, found, err = b.Backend.List(ctx, key, end, limit, at, keysOnly)
	}
	return at, found, err
}

// Get is of one revision, also when there is nothing.
func (b *Backend) Get(ctx context.Context, key string, revision int64, keysOnly bool,
) (int64, *server.KeyValue, error) {
	at, found, err := b.Backend.Get(ctx, key, revision, keysOnly)
	if err == nil && revision == 0 && found == nil {
		_, found, err = b.Backend.Get(ctx, key, at, keysOnly)
	}
	return at, found, err
}

// Count tells the revision that it was asked for: kine counts what a page of a
// list does not have, and gives the whole the revision of the count.
func (b *Backend) Count(ctx context.Context, key, end string, revision int64) (int64, int64, error) {
	at, n, err := b.Backend.Count(ctx, key, end, revision)
	if err == nil && revision > 0 {
		at = revision
	}
	return at, n, err
}
