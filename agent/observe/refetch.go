package observe

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// refetcher reads single objects again that were seen before it was known that they are ours.
type refetcher struct {
	o *Observer

	mu    sync.Mutex
	queue []place
	rest  int             // of what was taken off the queue, how much is still to be read
	gone  map[string]bool // UIDs whose deletion was seen during a read; nil while there is no read
	wake  chan struct{}   // one slot
}

func newRefetcher(o *Observer) *refetcher { return &refetcher{o: o, wake: make(chan struct{}, 1)} }

func (f *refetcher) add(p place) {
	f.mu.Lock()
	f.queue = append(f.queue, p)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// deleted records that an object is gone, so that a read that began before does not bring it back.
func (f *refetcher) deleted(uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone != nil {
		f.gone[uid] = true
	}
}

// reading begins or ends a read. It returns the deletions that were seen meanwhile.
func (f *refetcher) reading(next map[string]bool) map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.gone
	f.gone = next
	return seen
}

func (f *refetcher) take() []place {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.queue
	f.queue, f.rest = nil, len(f.queue)
	return out
}

// done records that one of the taken reads has ended.
func (f *refetcher) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest--
}

// busy reports whether anything is still to be read.
func (f *refetcher) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue) > 0 || f.rest > 0
}

func (f *refetcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		for _, p := range f.take() {
			f.read(ctx, p)
			f.done()
		}
		f.o.mu.Lock()
		if ctx.Err() == nil {
			f.o.settledLocked(watchKey{})
		}
		f.o.mu.Unlock()
	}
}

// read reads one object. A failure is not repeated: the object is gone, or its next event or the
// next list brings it.
func (f *refetcher) read(ctx context.Context, p place) {
	f.o.mu.Lock()
	w := f.o.watchers[p.watch]
	f.o.mu.Unlock()
	if w == nil {
		return
	}
	f.reading(map[string]bool{})
	live, err := w.client.Get(ctx, w.listing.Resource, p.namespace, p.name, false)
	if p.uid != "" && (apierrors.IsNotFound(err) || err == nil && live.Metadata.UID != p.uid) {
		f.reading(nil)
		f.o.gone(p.uid, false)
		return
	}
	if err != nil {
		f.o.Log.Debug("object not read again", "namespace", p.namespace, "name", p.name, "err", err)
		f.reading(nil)
		return
	}
	f.o.observeRead(p.watch, live)
}
