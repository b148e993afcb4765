package kine

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher is one of those who watch, and what it was told.
type watcher struct {
	t      *testing.T
	prefix string
	mayEnd bool // where a shared database does not answer in time all watches end, and begin again

	mu      sync.Mutex
	from    int64 // told has everything from here on
	last    int64 // the newest revision that it was told of
	claimed int64 // the newest revision up to which it was told that it has everything
	told    []*mvccpb.Event
	begun   int
	skipped int
}

// take reads what a watch tells, and checks its order. It returns true when what comes next was
// compacted.
func (w *watcher) take(ctx context.Context, events clientv3.WatchChan) bool {
	for told := range events {
		w.mu.Lock()
		switch {
		case told.CompactRevision > w.last:
			w.mu.Unlock()
			return true
		case told.Err() != nil && ctx.Err() == nil && !w.mayEnd:
			w.t.Errorf("the watch of %s ended at %d: %v", w.prefix, w.last, told.Err())
		}
		for _, e := range told.Events {
			if e.Kv.ModRevision <= w.last {
				w.t.Errorf("event %d of %s comes after %d", e.Kv.ModRevision, w.prefix, w.last)
			}
			if e.Kv.ModRevision <= w.claimed {
				w.t.Errorf("event %d of %s comes after progress %d", e.Kv.ModRevision, w.prefix,
					w.claimed)
			}
			w.last = e.Kv.ModRevision
			w.told = append(w.told, e)
		}
		if told.IsProgressNotify() {
			w.claimed = max(w.claimed, told.Header.Revision)
		}
		w.mu.Unlock()
	}
	return false
}

// begin returns where the watch goes on.
func (w *watcher) begin() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun++
	return w.last + 1
}

// skip goes on after a revision.
func (w *watcher) skip(newest int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skipped++
	w.last, w.from, w.told = newest, newest+1, nil
}

// follow watches a prefix from a revision on, until ctx ends; for so long at most before it begins
// again from where it was.
func (o *ordering) follow(ctx context.Context, store int, prefix string, from int64,
	atMost time.Duration) *watcher {
	w := &watcher{t: o.t, prefix: prefix, mayEnd: o.stores[0].Shared(), last: from - 1, from: from}
	go func() {
		for n := store; ctx.Err() == nil; n++ {
			some, cancel := context.WithTimeout(ctx, rand.N(atMost))
			client := o.store(n).Client()
			events := client.Watch(some, prefix, watchOptions(w.begin())...)
			_ = client.RequestProgress(some)
			if w.take(some, events) { // nobody can have what was compacted
				w.skip(o.newest(ctx))
			}
			cancel()
		}
	}()
	return w
}

func watchOptions(from int64) []clientv3.OpOption {
	return []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithPrevKV(),
		clientv3.WithProgressNotify(), clientv3.WithRev(from)}
}

func (w *watcher) until(revision int64) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		w.mu.Lock()
		last := w.last
		w.mu.Unlock()
		if last >= revision {
			return
		}
	}
	w.t.Errorf("a watch of %s is not told of %d within a minute", w.prefix, revision)
}
