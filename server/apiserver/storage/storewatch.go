package storage

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/apiserver/request"
)

const (
	// recentEvents and recentBytes bound the events that a storeWatch keeps for watches that are
	// about to join it. They cover the moment between two reads of the store.
	recentEvents = 100
	recentBytes  = 256 << 10
	// askPeriod is how often at most the store is asked for the progress of all watches.
	askPeriod = time.Second
)

// storeWatches has the storeWatch of each space in which a resource without a cache is watched.
//
// A client's watch begins with a watch of the store of its own, which gives it the list that it may
// have asked for, the changes since its resourceVersion, or the answer that this is too old. When
// the store says that it has come to the present, it joins the storeWatch of its space. The first
// watch begins that, and the last one ends it (watchjoin.go).
type storeWatches struct {
	prefix   string // of keys: "/registry/example.com/gadgets/"
	watch    func(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan
	decode   decodeFunc
	bookmark func(revision int64) (runtime.Object, error)
	// ask has the store tell all its watches how far they are.
	ask func(context.Context) error

	mu    sync.Mutex // before that of a storeWatch
	open  map[string]*storeWatch
	asked time.Time
}

// storeWatch is the watch of the store that all watches of a resource in a space share.
type storeWatch struct {
	ctx    context.Context // has the space
	cancel context.CancelFunc

	mu          sync.Mutex
	subscribers map[*subscription]struct{}
	from        int64 // recent has everything after this revision
	reached     int64 // up to this revision, which the store has told
	recent      []*storeEvent
	bytes       int // of recent
	ended       bool
}

// join gives a subscription the events after a revision. Its own watch has had everything before.
// It reports false if the storeWatch begins later, or if there is none and begin is false.
func (s *storeWatches) join(space string, sub *subscription, after int64, begin bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.open[space]
	begins := w == nil
	if begins {
		if !begin {
			return false
		}
		// It is no request's: it lasts until the last one leaves.
		ctx, cancel := context.WithCancel(request.WithSpace(context.Background(), space))
		w = &storeWatch{ctx: ctx, cancel: cancel, from: after, reached: after,
			subscribers: map[*subscription]struct{}{}}
		s.open[space] = w
	}
	if !w.add(sub, after) {
		return false
	}
	if begins { // with who made it begin: nothing has come before
		go s.run(space, w, after)
	}
	sub.leave = func() { s.leave(space, w, sub) }
	return true
}

func (s *storeWatches) leave(space string, w *storeWatch, sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.subscribers, sub)
	if len(w.subscribers) == 0 {
		w.ended = true
		w.cancel()
		s.forgetLocked(space, w)
	}
}

// forgetLocked makes the next watch of a space begin another storeWatch.
func (s *storeWatches) forgetLocked(space string, w *storeWatch) {
	if s.open[space] == w {
		delete(s.open, space)
	}
}

// run hands out the events of the store until the watch ends. Then it tells all who share it, and
// they begin again where they were.
func (s *storeWatches) run(space string, w *storeWatch, after int64) {
	defer w.cancel()
	ctx := clientv3.WithRequireLeader(w.ctx)
	err := w.hand(s.watch(ctx, s.prefix+space+"/", clientv3.WithPrefix(), clientv3.WithRev(after+1),
		clientv3.WithPrevKV(), clientv3.WithProgressNotify()), after)
	s.mu.Lock()
	s.forgetLocked(space, w)
	s.mu.Unlock()
	w.finish(err)
}

// hand publishes the events of a watch of the store after a revision. The error is nil if the store
// ended the watch without one.
func (w *storeWatch) hand(in clientv3.WatchChan, after int64) error {
	for resp := range in {
		if err := resp.Err(); err != nil {
			return err
		}
		if resp.IsProgressNotify() {
			w.publish(&storeEvent{revision: resp.Header.Revision})
			continue
		}
		for _, e := range resp.Events {
			if e.Kv.ModRevision <= after {
				continue
			}
			event, err := newStoreEvent(e)
			if err != nil {
				return err
			}
			after = event.revision
			w.publish(event)
		}
	}
	return nil
}

// add gives a subscription the events after a revision. It reports false if that revision is not
// known.
func (w *storeWatch) add(sub *subscription, after int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || after < w.from {
		return false
	}
	sub.after = max(sub.after, after)
	for _, e := range w.recent {
		sub.offer(e)
	}
	sub.offer(&storeEvent{revision: w.reached})
	w.subscribers[sub] = struct{}{}
	return true
}

func (w *storeWatch) publish(e *storeEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = max(w.reached, e.revision)
	if e.key != "" {
		w.recent = append(w.recent, e)
		w.bytes += e.size
		for len(w.recent) > recentEvents || w.bytes > recentBytes {
			w.from, w.bytes = w.recent[0].revision, w.bytes-w.recent[0].size
			w.recent[0] = nil
			w.recent = w.recent[1:]
		}
	}
	for sub := range w.subscribers {
		sub.offer(e)
	}
}

// finish ends all watches that share this one, with an error where there is one.
func (w *storeWatch) finish(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.recent = true, nil
	for sub := range w.subscribers {
		sub.finish(err)
	}
}

// askProgress asks the store for the progress of all its watches, at most once a second.
func (s *storeWatches) askProgress(ctx context.Context) {
	s.mu.Lock()
	due := time.Since(s.asked) >= askPeriod
	if due {
		s.asked = time.Now()
	}
	s.mu.Unlock()
	if due {
		_ = s.ask(ctx) // the next one asks again
	}
}

// watchError returns the event for an error, as upstream's watches of the store make it.
func watchError(err error) runtime.Object {
	if errors.Is(err, rpctypes.ErrCompacted) {
		err = apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
	}
	var told apierrors.APIStatus
	if !errors.As(err, &told) {
		told = apierrors.NewInternalError(err)
	}
	status := told.Status()
	return &status
}

// isCanceled reports whether an error says no more than that a watch of the store was given up.
func isCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || grpcstatus.Code(err) == codes.Canceled
}
