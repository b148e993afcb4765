package apiserver

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// keylessWatch takes the storage keys off the objects of a watch of the cache. The objects are the watcher's own, or
// copy themselves when they are changed, so the cache keeps its keys. Of a watch of the store it keeps back bookmarks, which come whenever something
// was written somewhere, until it is time for one.
type keylessWatch struct {
	in   watch.Interface
	out  chan watch.Event
	gone <-chan struct{} // the request has ended, also where upstream forgets to stop the watch: for an answer in a format that there is not
	done chan struct{}
	once sync.Once

	paced    bool      // bookmarks are kept back
	deadline time.Time // when the request ends, if that is known
}

// As often as the cache sends bookmarks.
const (
	bookmarkPeriod = time.Minute
	// beforeEnd is how long before its end a watch has its last bookmark.
	beforeEnd = 2 * time.Second
)

func stripKeys(ctx context.Context, in watch.Interface, paced bool) watch.Interface {
	w := &keylessWatch{in: in, out: make(chan watch.Event), gone: ctx.Done(), done: make(chan struct{}), paced: paced}
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
	var kept *watch.Event // a bookmark; what comes after it makes it worthless
	due := w.nextBookmark(time.Now())
	timer := time.NewTimer(0)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case e, ok := <-w.in.ResultChan():
			if !ok {
				return
			}
			if w.paced && e.Type == watch.Bookmark && !endsInitialEvents(e) {
				if kept == nil {
					timer.Reset(time.Until(due))
				}
				kept = &e
				continue
			}
			kept = nil
			timer.Stop()
			if e.Type != watch.Error {
				clearKey(e.Object)
			}
			if !w.send(e) {
				return
			}
		case now := <-timer.C:
			e := *kept
			kept, due = nil, w.nextBookmark(now)
			if !w.send(e) {
				return
			}
		case <-w.done:
			return
		case <-w.gone:
			return
		}
	}
}

func (w *keylessWatch) send(e watch.Event) bool {
	select {
	case w.out <- e:
		return true
	case <-w.done:
		return false
	case <-w.gone:
		return false
	}
}

// nextBookmark is when there may be one again: after a minute, which is not the same for all, and shortly before the watch ends.
func (w *keylessWatch) nextBookmark(now time.Time) time.Time {
	next := now.Add(wait.Jitter(bookmarkPeriod, 0.25))
	if last := w.deadline.Add(-beforeEnd); !w.deadline.IsZero() && last.After(now) && next.After(last) {
		return last
	}
	return next
}

// endsInitialEvents tells whether it is the bookmark that a client waits for who has the list sent as events.
func endsInitialEvents(e watch.Event) bool {
	ends, err := storage.HasInitialEventsEndBookmarkAnnotation(e.Object)
	return err == nil && ends
}
