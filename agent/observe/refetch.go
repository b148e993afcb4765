package observe

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/backoff"
)

// refetcher reads single objects again that were seen before it was known that they are ours.
type refetcher struct {
	o *Observer

	mu    sync.Mutex
	queue []place
	rest  int             // of what was taken off the queue, how much is still to be read
	again map[place]bool  // what the target did not answer, and is asked again
	gone  map[string]bool // UIDs whose deletion was seen during a read; nil while there is no read
	wake  chan struct{}   // one slot
}

func newRefetcher(o *Observer) *refetcher {
	return &refetcher{o: o, again: map[place]bool{}, wake: make(chan struct{}, 1)}
}

func (f *refetcher) add(p place) {
	f.mu.Lock()
	f.queue = append(f.queue, p)
	f.mu.Unlock()
	f.awake()
}

func (f *refetcher) awake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// repeat queues what was not answered.
func (f *refetcher) repeat() {
	f.mu.Lock()
	for p := range f.again {
		f.queue = append(f.queue, p)
	}
	clear(f.again)
	f.mu.Unlock()
	f.awake()
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

// done records that one of the taken reads has ended, and whether the target answered.
func (f *refetcher) done(p place, answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest--
	if !answered {
		f.again[p] = true
	}
}

// unanswered reports whether anything has to be repeated.
func (f *refetcher) unanswered() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.again) > 0
}

// busy reports whether anything is still to be read.
func (f *refetcher) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue) > 0 || f.rest > 0 || len(f.again) > 0
}

func (f *refetcher) run(ctx context.Context) {
	retry := time.NewTimer(retryLimit)
	defer retry.Stop()
	retry.Stop()
	failures, waits := 0, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-retry.C:
			waits = false
			f.repeat()
		}
		for _, p := range f.take() {
			f.done(p, f.read(ctx, p))
		}
		switch {
		case !f.unanswered():
			failures = 0
		case !waits:
			failures, waits = failures+1, true
			retry.Reset(backoff.Half(failures, retryFirst, retryLimit))
		}
		f.o.mu.Lock()
		if ctx.Err() == nil {
			f.o.settledLocked(watchKey{})
		}
		f.o.mu.Unlock()
	}
}

// read reads one object. It reports false if the target did not say whether it has the object: no
// event may ever come that tells of it again.
func (f *refetcher) read(ctx context.Context, p place) (answered bool) {
	f.o.mu.Lock()
	w := f.o.watchers[p.watch]
	f.o.mu.Unlock()
	if w == nil {
		return true // a new watch lists it
	}
	if p.watch.born {
		return f.readBorn(ctx, w, p)
	}
	f.reading(map[string]bool{})
	live, err := w.client.Get(ctx, w.listing.Resource, p.namespace, p.name, false)
	if p.uid != "" && (apierrors.IsNotFound(err) || err == nil && live.Metadata.UID != p.uid) {
		f.reading(nil)
		f.o.gone(p.uid, false)
		return true
	}
	if err != nil {
		f.o.Log.Debug("object not read again", "namespace", p.namespace, "name", p.name, "err", err)
		f.reading(nil)
		return apierrors.IsNotFound(err) || hopeless(err)
	}
	f.o.observeRead(p.watch, live)
	return true
}
