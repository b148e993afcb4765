// Package queue is a work queue with retries, and the workers that process it.
//
// An item is in the queue once, however often it is added. One that fails comes back later, each time
// after twice as long. One that is added while a worker processes it is processed once more.
//
//	q := queue.New[store.Key](10*time.Millisecond, 30*time.Second)
//	q.Add(key)
//	queue.Serve(ctx, q, 4, reconcile, func(k store.Key, err error) { log.Warn("not done", "key", k, "err", err) })
//
// NewFair serves the owners of items in turn. Items are names: a worker reads the present state itself.
package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Queue holds what is to be done.
type Queue[T comparable] = workqueue.TypedRateLimitingInterface[T]

// New returns an empty queue. What fails comes back after first, then after twice as long each
// time, at most after longest. Each thing is delayed by its own failures: a limit over all of them
// would hold thousands back after one outage of the API.
func New[T comparable](first, longest time.Duration) Queue[T] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[T](first, longest))
}

// Drain does what the queue holds, one thing after another, until it is shut down. What is added
// again while it is done comes once more. What fails is told to failed and comes back, unless ctx
// has ended: then failing means nothing.
func Drain[T comparable](ctx context.Context, q Queue[T], do func(context.Context, T) error, failed func(T, error)) {
	for {
		item, down := q.Get()
		if down {
			return
		}
		if err := do(ctx, item); err == nil {
			q.Forget(item)
		} else if ctx.Err() == nil {
			failed(item, err)
			q.AddRateLimited(item)
		}
		q.Done(item)
	}
}

// Serve has workers Drain the queue side by side until ctx ends, and shuts the queue down then. It
// returns when all of them have.
func Serve[T comparable](
	ctx context.Context,
	q Queue[T],
	workers int,
	do func(context.Context, T) error,
	failed func(T, error),
) {
	var all sync.WaitGroup
	defer all.Wait()
	defer q.ShutDown()
	for range workers {
		all.Go(func() { Drain(ctx, q, do, failed) })
	}
	<-ctx.Done()
}
