package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// NewFair is New for items of several owners, such as the spaces. Owners are served in turn, so what one
// of them has waits for one item of each other at the most, however many items those have.
func NewFair[T comparable](first, longest time.Duration, owner func(T) string) Queue[T] {
	items := &fair[T]{owner: owner, of: map[string][]T{}}
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Queue: items})
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[T](first, longest),
		workqueue.TypedRateLimitingQueueConfig[T]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Queue: inner}),
		})
}

// fair is the storage of a fair queue: a line of items for each owner, and the owners that have any, the
// next one first. It implements workqueue.Queue, which one goroutine at a time calls.
type fair[T comparable] struct {
	owner func(T) string
	of    map[string][]T
	turn  []string
	n     int
}

// Touch implements workqueue.Queue: an item that is added again keeps its place.
func (q *fair[T]) Touch(T) {}

// Push implements workqueue.Queue.
func (q *fair[T]) Push(item T) {
	name := q.owner(item)
	line := q.of[name]
	if len(line) == 0 {
		q.turn = append(q.turn, name)
	}
	q.of[name] = append(line, item)
	q.n++
}

// Len implements workqueue.Queue.
func (q *fair[T]) Len() int { return q.n }

// Pop implements workqueue.Queue.
func (q *fair[T]) Pop() T {
	name := q.turn[0]
	q.turn = q.turn[1:]
	line := q.of[name]
	item := line[0]
	line[0] = *new(T) // the array lives on
	if line = line[1:]; len(line) == 0 {
		delete(q.of, name)
	} else {
		q.of[name] = line
		q.turn = append(q.turn, name)
	}
	q.n--
	return item
}
