package observe

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/backoff"
	"skerry.dev/skerry/agent/target"
)

// watcher lists one resource and then watches it until ctx ends. A watch that ends continues from
// the last resourceVersion. If the target's history does not reach back so far, the resource is
// listed again, and what is not in the list is gone.
type watcher struct {
	o       *Observer
	key     watchKey
	client  *target.Client
	listing target.Listing
	stop    context.CancelFunc
	nudged  chan struct{} // one slot

	// Guarded by o.mu: the resourceVersion of the last list, and while it is being listed what was
	// written meanwhile, by UID.
	listed uint64
	during map[string]place
}

// Times of a watcher: how long one watch lasts, what is too short to be one, and the limits of the
// wait after a failure.
const (
	watchLimit = 8 * time.Minute
	watchShort = time.Second
	retryFirst = 200 * time.Millisecond
	retryLimit = 30 * time.Second
)

// nudge makes a watcher that waits after a failure try again at once.
func (w *watcher) nudge() {
	select {
	case w.nudged <- struct{}{}:
	default:
	}
}

func (w *watcher) run(ctx context.Context) {
	failures := 0
	from, early := "", false
	for ctx.Err() == nil {
		var err error
		lasted := time.Duration(0) // of a watch
		if early &&
			from != "" { // what came back may be a target that was restored: it would say nothing until it is as far again
			var back bool
			if back, err = w.rewound(ctx, revisionOf(from)); back {
				from = ""
			}
		}
		switch {
		case err != nil:
			w.o.Log.Debug("the target does not say where it is", "resource", w.listing.Resource, "err", err)
		case from == "":
			early = false
			if from, err = w.list(ctx); err == nil || hopeless(err) {
				if w.key.born && ctx.Err() == nil {
					w.o.listed(w.key, err)
				}
				w.settled(ctx)
			}
		default:
			began := time.Now()
			from, err = w.watch(ctx, from)
			lasted = time.Since(began)
			early = lasted < watchLimit
			if err == nil && lasted < watchShort {
				err = errShort
			}
		}
		if lasted >= watchShort {
			failures = 0
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			continue
		case errors.Is(err, target.ErrExpired):
			w.o.Log.Debug("history expired, listing again", "resource", w.listing.Resource)
			from = ""
			if lasted >= watchShort { // or a target that expires what it has just listed would be listed as fast as it can
				continue
			}
		case hopeless(err):
			from = ""
		}
		failures++
		if failures == 3 {
			w.o.Log.Warn("cannot observe a resource, still trying", "resource", w.listing.Resource, "err", err)
		}
		w.wait(ctx, failures)
	}
}

// hopeless reports an error that stays until somebody changes the target. The start does not wait
// for it.
func hopeless(err error) bool {
	return errors.Is(err, target.ErrNotServed) || apierrors.IsForbidden(err)
}

func (w *watcher) settled(ctx context.Context) {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	if ctx.Err() == nil {
		w.o.settledLocked(w.key)
	}
}

func (w *watcher) wait(ctx context.Context, failures int) {
	timer := time.NewTimer(backoff.Half(failures, retryFirst, retryLimit))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-w.nudged:
	}
}

// list marks what the target has, and drops what was known before and is not there any more.
func (w *watcher) list(ctx context.Context) (string, error) {
	if _, err := w.rewound(ctx, w.o.newest(w.key)); err != nil {
		return "", err
	}
	w.begin()
	missing := w.o.tracked(w.key)
	from, err := w.client.List(ctx, w.listing, func(live *target.Object) error {
		delete(missing, live.Metadata.UID)
		w.o.seen(w.key, live)
		return ctx.Err()
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		w.end(w.listed)
		return "", err
	}
	for uid := range missing {
		if w.key.born {
			w.o.bornGone(uid)
		} else {
			w.o.gone(uid, false)
		}
	}
	w.end(revisionOf(from))
	return from, nil
}

// begin and end enclose a list. An object that is written between them may be missing in the list
// though it exists, so it is read again.
func (w *watcher) begin() {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	w.during = map[string]place{}
}

func (w *watcher) end(listed uint64) {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	for _, p := range w.during {
		w.o.fetch.add(p)
	}
	w.listed, w.during = listed, nil
}

// wroteLocked records that an object of this resource was written. o.mu must be held.
func (w *watcher) wroteLocked(p place, revision uint64) {
	switch {
	case w.during != nil:
		w.during[p.uid] = p
	case revision <= w.listed: // the list may have been without it
		w.o.fetch.add(p)
	}
}

func (w *watcher) watch(ctx context.Context, from string) (string, error) {
	limit := watchLimit + rand.N(watchLimit/4) // not all at the same moment
	return w.client.Watch(ctx, w.listing, from, limit, func(kind target.EventType, live *target.Object) {
		if ctx.Err() != nil {
			return
		}
		if kind == target.Deleted {
			w.o.deleted(w.key, live)
		} else {
			w.o.seen(w.key, live)
		}
	})
}

var errShort = errors.New("the target ended the watch at once")

func revisionOf(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64) // 0 for what is no number
	return n
}
