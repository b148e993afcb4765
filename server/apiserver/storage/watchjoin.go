package storage

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// maxAskPeriod is the longest time between two questions of a watch that is not told its progress.
const maxAskPeriod = 30 * time.Second

// joiningWatch is a watch of a resource without a cache. It begins with a watch of the store of its
// own, unless it can join the storeWatch of its space at once, and joins that as soon as it can.
//
//	own watch: list, past ... bookmark B -- join(B) --> storeWatch: what happens after B
type joiningWatch struct {
	all    *storeWatches
	ctx    context.Context // of the request
	space  string
	pred   storage.SelectionPredicate
	sub    *subscription
	joined func() // is called once, when the storeWatch gives the events
	behind func() // is called where more events wait than may
	copies bool   // the reader may change objects

	own  watch.Interface // nil once it has joined
	at   int64           // of which it has had everything up to this revision
	live bool            // its own watch is past the list, so that each event moves at

	out  chan watch.Event
	done chan struct{}
	once sync.Once
}

// ResultChan implements watch.Interface.
func (w *joiningWatch) ResultChan() <-chan watch.Event { return w.out }

// Stop implements watch.Interface. The reader need not drain the watch.
func (w *joiningWatch) Stop() { w.once.Do(func() { close(w.done) }) }

func (w *joiningWatch) run() {
	defer close(w.out)
	if w.own != nil && !w.approach() {
		return
	}
	defer w.sub.leave()
	w.joined()
	for {
		events, ended := w.sub.take()
		for _, e := range events {
			if !w.pass(e) {
				return
			}
		}
		if ended {
			w.end()
			return
		}
		select {
		case <-w.sub.wake:
		case <-w.done:
			return
		case <-w.ctx.Done():
			return
		}
	}
}

// approach passes on what the watch's own watch of the store gives until it has joined the
// storeWatch. It reports false when the watch has ended before.
func (w *joiningWatch) approach() bool {
	defer w.own.Stop()
	wait := askPeriod
	ask := time.NewTimer(wait)
	defer ask.Stop()
	for {
		select {
		case e, ok := <-w.own.ResultChan():
			if !ok || !w.passOwn(e) {
				return false
			}
			if w.at > 0 && w.all.join(w.space, w.sub, w.at, true) {
				return true
			}
		case <-ask.C:
			w.all.askProgress(w.ctx)
			wait = min(2*wait, maxAskPeriod)
			ask.Reset(wait)
		case <-w.done:
			return false
		case <-w.ctx.Done():
			return false
		}
	}
}

// passOwn forwards an event of the watch's own watch.
func (w *joiningWatch) passOwn(e watch.Event) bool {
	if e.Type == watch.Bookmark {
		w.live = true
	}
	if w.live && e.Type != watch.Error { // no event is of an earlier revision than the one before
		w.at = max(w.at, revisionOf(e.Object, nil))
	}
	return e.Type == watch.Bookmark && !w.pred.AllowWatchBookmarks || w.send(e)
}

// pass forwards an event of the storeWatch. It reports false if the watch has ended.
func (w *joiningWatch) pass(e *storeEvent) bool {
	if e.key == "" {
		if !w.pred.AllowWatchBookmarks {
			return true
		}
		mark, err := w.all.bookmark(e.revision)
		if err != nil {
			return w.fail(err)
		}
		return w.send(watch.Event{Type: watch.Bookmark, Object: mark})
	}
	told, ok, err := e.seenBy(request.WithSpace(context.Background(), w.space), w.pred, w.all.decode)
	switch {
	case err != nil:
		return w.fail(err)
	case !ok:
		return true
	case w.copies:
		told.Object = told.Object.DeepCopyObject()
	}
	return w.send(told)
}

// end tells the reader why the storeWatch ended.
func (w *joiningWatch) end() {
	if w.sub.behind {
		w.behind()
	} else if w.sub.err != nil {
		w.fail(w.sub.err)
	}
}

// fail ends the watch with an error event, as upstream's watches do.
func (w *joiningWatch) fail(err error) bool {
	if !isCanceled(err) {
		w.send(watch.Event{Type: watch.Error, Object: watchError(err)})
	}
	return false
}

func (w *joiningWatch) send(e watch.Event) bool {
	select {
	case w.out <- e:
		return true
	case <-w.done:
		return false
	case <-w.ctx.Done():
		return false
	}
}

// watchStore begins a watch of a resource without a cache. key has its space.
func (s *spaceStorage) watchStore(ctx context.Context, key string, o storage.ListOptions,
	h *holding) (watch.Interface, error) {
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	rev, err := s.raw.Versioner().ParseResourceVersion(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	after := int64(rev)
	w := &joiningWatch{all: s.shared, ctx: ctx, space: request.Space(ctx), pred: o.Predicate,
		copies: h == nil, joined: func() {}, behind: func() {},
		sub: newSubscription(registrykey.Prefix+key, o.Recursive, after), live: rev > 0 && !initial,
		out: make(chan watch.Event), done: make(chan struct{})}
	if h != nil {
		w.joined, w.behind = h.shares, h.Books.End
	}
	if !w.live || !s.shared.join(w.space, w.sub, after, false) {
		o.ProgressNotify = true // which says when it has come to the present
		if w.own, err = s.raw.Watch(ctx, key, o); err != nil {
			return nil, err
		}
	}
	go w.run()
	return w, nil
}

// bookmarkOf returns the object of a bookmark.
func bookmarkOf(newFunc func() runtime.Object,
	versioner storage.Versioner) func(int64) (runtime.Object, error) {
	return func(revision int64) (runtime.Object, error) {
		mark := newFunc()
		return mark, versioner.UpdateObject(mark, uint64(revision))
	}
}
