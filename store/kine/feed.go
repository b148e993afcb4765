package kine

import (
	"context"
	"sync"

	"github.com/k3s-io/kine/pkg/server"
)

const (
	// maxBehind is how many bytes of events wait for a watch that does not take them. Its client begins again then, from what it has seen.
	maxBehind = 32 << 20
	// eventBytes is about what an event takes besides its values.
	eventBytes = 512
)

// feed hands what is committed to watches, in the order of revisions and before it is acknowledged. kine would read it from the database again.
type feed struct {
	mu      sync.Mutex
	watches map[*watch]struct{}
	moved   *sync.Cond // a watch took what waited for it, or ended
}

func newFeed() *feed {
	f := &feed{watches: map[*watch]struct{}{}}
	f.moved = sync.NewCond(&f.mu)
	return f
}

// watch is a range of keys of which somebody wants the events. The feed's lock guards it.
type watch struct {
	feed     *feed
	key, end string
	wake     chan struct{} // has one when something waits, or the watch is ended

	waiting server.Events
	behind  int   // bytes of what waits
	oldest  int64 // the revision of the oldest event that has not been handed over, or 0
	ended   bool
}

// watch begins one. What is published from now on waits for it.
func (f *feed) watch(key, end string) *watch {
	w := &watch{feed: f, key: key, end: end, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watches[w] = struct{}{}
	return w
}

// publish gives events to those who watch their keys, and waits for nobody.
func (f *feed) publish(events server.Events) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watches {
		for _, e := range events {
			if e.InRange(w.key, w.end) {
				w.add(e)
			}
		}
	}
}

func (w *watch) add(e *server.Event) {
	if w.ended {
		return
	}
	if w.oldest == 0 {
		w.oldest = e.KV.ModRevision
	}
	w.waiting = append(w.waiting, e)
	w.behind += eventBytes + len(e.KV.Value)
	if e.PrevKV != nil {
		w.behind += len(e.PrevKV.Value)
	}
	if w.behind > maxBehind {
		w.finish()
	}
	w.ring()
}

func (w *watch) ring() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// finish ends a watch: nothing waits for it any more, and nobody for it.
func (w *watch) finish() {
	w.waiting, w.oldest, w.ended = nil, 0, true
	delete(w.feed.watches, w)
	w.feed.moved.Broadcast()
	w.ring()
}

// stop ends a watch.
func (w *watch) stop() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	w.finish()
}

// next says that what it returned before was handed over, and returns what waits, when there is something. It is not ok when the watch has ended.
func (w *watch) next(ctx context.Context) (events server.Events, ok bool) {
	w.handedOver()
	for len(events) == 0 {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, false
		}
		w.feed.mu.Lock()
		if w.ended {
			w.feed.mu.Unlock()
			return nil, false
		}
		events, w.waiting, w.behind = w.waiting, nil, 0
		w.feed.mu.Unlock()
	}
	return events, true
}

func (w *watch) handedOver() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	w.oldest = 0
	if len(w.waiting) > 0 {
		w.oldest = w.waiting[0].KV.ModRevision
	}
	w.feed.moved.Broadcast()
}

// waitFor returns when every watch was handed its events up to a revision.
func (f *feed) waitFor(revision int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.owes(revision) {
		f.moved.Wait()
	}
}

func (f *feed) owes(revision int64) bool {
	for w := range f.watches {
		if w.oldest != 0 && w.oldest <= revision {
			return true
		}
	}
	return false
}

// forward sends what a watch gets after a revision, until its context or the watch ends.
func forward[E ~[]*server.Event](ctx context.Context, w *watch, after int64, to chan<- E) {
	defer close(to)
	defer w.stop()
	for {
		events, ok := w.next(ctx)
		if !ok {
			return
		}
		for len(events) > 0 && events[0].KV.ModRevision <= after {
			events = events[1:]
		}
		if len(events) == 0 {
			continue
		}
		select {
		case to <- E(events):
		case <-ctx.Done():
			return
		}
	}
}
