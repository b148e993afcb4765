package storage

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/apiserver/share"
)

// keylessWatch removes the storage keys from the objects of a watch of the cache. The objects are
// the watcher's own, or copy themselves when they are changed, so the cache keeps its keys. A watch
// of the store gets a bookmark after each write anywhere; keylessWatch withholds these until one is
// due.
type keylessWatch struct {
	in  watch.Interface
	out chan watch.Event
	// gone is closed when the request has ended. Upstream forgets to stop the watch if a client
	// asks for a format that there is not.
	gone <-chan struct{}
	done chan struct{}
	once sync.Once

	paced    bool      // bookmarks are kept back
	deadline time.Time // when the request ends, if that is known
	holding  *holding  // nil for a watch of the center's own

	queue []watch.Event // what the reader is to take next
}

// As often as the cache sends bookmarks.
const (
	bookmarkPeriod = time.Minute
	// beforeEnd is how long before its end a watch has its last bookmark.
	beforeEnd = 2 * time.Second
)

func stripKeys(ctx context.Context, in watch.Interface, paced bool, h *holding) watch.Interface {
	w := &keylessWatch{
		in:      in,
		out:     make(chan watch.Event),
		gone:    ctx.Done(),
		done:    make(chan struct{}),
		paced:   paced,
		holding: h,
	}
	w.deadline, _ = ctx.Deadline()
	go w.run()
	return w
}

func (w *keylessWatch) ResultChan() <-chan watch.Event { return w.out }

// Stop ends the watch. Its reader need not drain it.
func (w *keylessWatch) Stop() {
	w.once.Do(func() { close(w.done) })
	w.in.Stop()
}

func (w *keylessWatch) run() {
	defer close(w.out)
	defer w.in.Stop()     // nothing waits for a reader that is stuck
	var kept *watch.Event // a bookmark; what comes after it makes it worthless
	due := w.nextBookmark(time.Now())
	bookmark, look := stoppedTimer(), stoppedTimer()
	defer bookmark.Stop()
	defer look.Stop()
	for in := w.in.ResultChan(); in != nil || len(w.queue) > 0; {
		take, put, next := w.turn(in)
		select {
		case e, ok := <-take:
			if !ok {
				in = nil
				continue
			}
			if w.paced && e.Type == watch.Bookmark && !endsInitialEvents(e) {
				if kept == nil {
					bookmark.Reset(time.Until(due))
				}
				kept = &e
				continue
			}
			kept = nil
			bookmark.Stop()
			if !w.add(e) {
				return
			}
		case put <- next:
			w.queue = w.queue[1:]
			if w.holding != nil {
				look.Reset(share.StuckAfter)
			}
		case now := <-bookmark.C:
			w.queue = append(w.queue, *kept)
			kept, due = nil, w.nextBookmark(now)
		case <-look.C:
			again := w.holding.Books.EndIfStuck(share.StuckAfter)
			if again == 0 {
				return
			}
			look.Reset(again)
		case <-w.done:
			return
		case <-w.gone:
			return
		}
	}
}

// turn returns the channels for the next event: the one that it comes from and the one that it goes
// to, nil for none.
func (w *keylessWatch) turn(in <-chan watch.Event) (take <-chan watch.Event, put chan<- watch.Event, next watch.Event) {
	if len(w.queue) == 0 {
		return in, nil, next
	}
	if w.holding.ahead(w.queue) {
		take = in
	}
	return take, w.out, w.queue[0]
}

// add queues an event, and reports false when the watch has ended by that.
func (w *keylessWatch) add(e watch.Event) bool {
	if e.Type != watch.Error {
		clearKey(e.Object)
	}
	if w.holding != nil {
		w.holding.Leave()
		held, ok := w.holding.hold(e)
		if !ok {
			return false
		}
		e = held
	}
	w.queue = append(w.queue, e)
	return true
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(0)
	t.Stop()
	return t
}

// nextBookmark returns when the next bookmark is due: after a minute, with jitter, and shortly
// before the watch ends.
func (w *keylessWatch) nextBookmark(now time.Time) time.Time {
	next := now.Add(wait.Jitter(bookmarkPeriod, 0.25))
	if last := w.deadline.Add(-beforeEnd); !w.deadline.IsZero() && last.After(now) && next.After(last) {
		return last
	}
	return next
}

// endsInitialEvents reports whether an event is the bookmark that ends the initial events of a
// streamed list.
func endsInitialEvents(e watch.Event) bool {
	ends, err := storage.HasInitialEventsEndBookmarkAnnotation(e.Object)
	return err == nil && ends
}
