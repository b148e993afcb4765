package apiserver

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// keylessWatch takes the storage keys off the objects of a watch of the cache. The objects are the watcher's own, or
// copy themselves when they are changed, so the cache keeps its keys.
type keylessWatch struct {
	in   watch.Interface
	out  chan watch.Event
	gone <-chan struct{} // the request has ended, also where upstream forgets to stop the watch: for an answer in a format that there is not
	done chan struct{}
	once sync.Once
}

func stripKeys(ctx context.Context, in watch.Interface) watch.Interface {
	w := &keylessWatch{in: in, out: make(chan watch.Event), gone: ctx.Done(), done: make(chan struct{})}
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
	for e := range w.in.ResultChan() {
		if e.Type != watch.Error {
			clearKey(e.Object)
		}
		select {
		case w.out <- e:
		case <-w.done:
			return
		case <-w.gone:
			return
		}
	}
}
