package kine

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/server"
)

const (
	// maxBehind is how many bytes of events wait for a watch that does not take them. Its client
	// begins again then, from what it has seen.
	maxBehind = 32 << 20
	// eventBytes is about what an event takes besides its values.
	eventBytes = 512
	// progressPeriod is how long after a write those are told of it at the latest, as of progress,
	// who have no event of it and do not ask: the caches of all kinds, and watches that have a
	// bookmark once a minute.
	progressPeriod = 30 * time.Second
)

// feed hands what is committed to watches, in the order of revisions. A file's writes come from
// memory, before they are acknowledged; those of a shared database come from poller.
type feed struct {
	period time.Duration // of progress

	mu      sync.Mutex
	watches map[*watch]struct{}
	newest  int64 // all events up to this revision have been published
	telling bool  // progress is about to be told
}

func newFeed(period time.Duration) *feed {
	return &feed{period: cmp.Or(period, progressPeriod), watches: map[*watch]struct{}{}}
}

// watch is a range of keys of which somebody wants the events. The feed's lock guards it.
type watch struct {
	feed     *feed
	key, end string
	notify   bool          // its reader wants to be told of progress
	wake     chan struct{} // has one when something waits, or the watch is ended

	waiting []*server.Event
	behind  int   // bytes of what waits
	told    int64 // the reader knows that he has all events up to this revision
	asked   bool  // progress is to be told
	ended   bool
}

// watch begins one. What is published from now on waits for it, and if it wants to be told of
// progress it is told at first how far it is.
func (f *feed) watch(key, end string, notify bool) *watch {
	w := &watch{feed: f, key: key, end: end, notify: notify, asked: notify,
		wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watches[w] = struct{}{}
	return w
}

// publish gives events to those who watch their keys, and waits for nobody.
func (f *feed) publish(events []*server.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		f.newest = max(f.newest, e.KV.ModRevision)
	}
	for w := range f.watches {
		for _, e := range events {
			if e.InRange(w.key, w.end) {
				w.addLocked(e)
			}
		}
		if w.notify && !f.telling && w.told < f.newest {
			f.telling = true
			time.AfterFunc(f.period, f.tell)
		}
	}
}

// tell lets all be told of progress who want it and do not know of it. It runs once for all, some
// time after a write, and not while nothing is written.
func (f *feed) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.telling = false
	for w := range f.watches {
		if w.notify && w.told < f.newest {
			w.asked = true
			w.ring()
		}
	}
}

// reached says that nothing will be published up to a revision.
func (f *feed) reached(revision int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = max(f.newest, revision)
}

// position returns the revision up to which all events have been published.
func (f *feed) position() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest
}

// restart says that what is published next comes after a revision. All watches end: what lies
// between is not published to them.
func (f *feed) restart(after int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watches {
		w.finishLocked()
	}
	f.newest = max(f.newest, after)
}

func (w *watch) addLocked(e *server.Event) {
	if w.ended {
		return
	}
	w.waiting = append(w.waiting, e)
	w.behind += eventBytes + len(e.KV.Value)
	if e.PrevKV != nil {
		w.behind += len(e.PrevKV.Value)
	}
	if w.behind > maxBehind {
		w.finishLocked()
	}
	w.ring()
}

func (w *watch) ring() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// finishLocked ends a watch: nothing waits for it any more.
func (w *watch) finishLocked() {
	w.waiting, w.ended = nil, true
	delete(w.feed.watches, w)
	w.ring()
}

// stop ends a watch.
func (w *watch) stop() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	w.finishLocked()
}

// ask lets the reader be told how far he is.
func (w *watch) ask() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	w.asked = w.notify
	w.ring()
}

// news is what a watch has for its reader.
type news struct {
	events []*server.Event
	// progress is the revision up to which he has all events with these, when that is to be told;
	// otherwise 0.
	progress int64
}

// next waits for news. It is not ok when the watch, or the context, has ended.
func (w *watch) next(ctx context.Context) (n news, ok bool) {
	for {
		if n, ok = w.take(); !ok || n.progress > 0 || len(n.events) > 0 {
			return n, ok
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return news{}, false
		}
	}
}

func (w *watch) take() (n news, ok bool) {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	n.events, w.waiting, w.behind = w.waiting, nil, 0
	if len(n.events) > 0 {
		w.told = n.events[len(n.events)-1].KV.ModRevision
	}
	if w.asked {
		w.asked, n.progress, w.told = false, w.feed.newest, w.feed.newest
	}
	return n, !w.ended
}
