package inorder

import (
	"context"
	"slices"
	"sync"

	"github.com/k3s-io/kine/pkg/server"
)

// feed has the events since it began or was compacted, and hands on new ones.
type feed struct {
	mu      sync.Mutex
	base    int64           // everything after this revision is in log
	newest  int64           // everything up to this revision was handed on
	log     []*server.Event // in the order of revisions
	watches map[*watch]struct{}
	moved   chan struct{} // closed when newest grows, and at the end
	ended   bool
}

func newFeed() *feed {
	return &feed{watches: map[*watch]struct{}{}, moved: make(chan struct{})}
}

// watch is a range of keys. Its channel has room for one batch, to which is
// added while nobody takes it: who waits for the channel has all there is.
type watch struct {
	key, end string
	from     int64
	events   chan []*server.Event
}

func (f *feed) publish(found []*server.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := len(f.log)
	for _, e := range found {
		if e != nil && e.KV.ModRevision > f.newest {
			f.log, f.newest = append(f.log, e), e.KV.ModRevision
		}
	}
	for w := range f.watches {
		w.put(f.log[old:])
	}
	f.move()
}

// move wakes those who wait for a revision.
func (f *feed) move() {
	close(f.moved)
	f.moved = make(chan struct{})
}

// put is called with the feed's lock, by nobody else at the same time.
func (w *watch) put(events []*server.Event) {
	var mine []*server.Event
	for _, e := range events {
		if e.KV.ModRevision >= w.from && e.InRange(w.key, w.end) {
			mine = append(mine, e)
		}
	}
	if len(mine) == 0 {
		return
	}
	select {
	case waiting := <-w.events:
		mine = append(waiting, mine...)
	default:
	}
	w.events <- mine
}

func (f *feed) watch(ctx context.Context, key, end string, from int64) server.WatchResult {
	w := &watch{key: key, end: end, from: from, events: make(chan []*server.Event, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	told := server.WatchResult{CurrentRevision: f.newest, Events: w.events}
	if from <= f.base || f.ended {
		close(w.events)
		told.CompactRevision = f.base
		return told
	}
	w.put(f.log)
	f.watches[w] = struct{}{}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stop(w)
	})
	return told
}

// stop ends a watch, unless it has ended.
func (f *feed) stop(w *watch) {
	if _, there := f.watches[w]; there {
		delete(f.watches, w)
		close(w.events)
	}
}

func (f *feed) restart(after int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watches {
		f.stop(w)
	}
	f.log, f.base, f.newest = nil, after, after
	f.move()
}

// end lets nobody wait any more.
func (f *feed) end() {
	f.restart(f.reached())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.move()
}

func (f *feed) forget(upTo int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.base = max(f.base, min(upTo, f.newest))
	keep := slices.IndexFunc(f.log, func(e *server.Event) bool { return e.KV.ModRevision > f.base })
	if keep < 0 {
		keep = len(f.log)
	}
	f.log = slices.Clone(f.log[keep:])
}

func (f *feed) reached() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest
}

func (f *feed) wait(revision int64) {
	for {
		f.mu.Lock()
		done, moved := f.newest >= revision || f.ended, f.moved
		f.mu.Unlock()
		if done {
			return
		}
		<-moved
	}
}
