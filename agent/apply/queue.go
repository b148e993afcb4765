package apply

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"skerry.dev/skerry/agent/backoff"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// Levels are the order in which ready keys are handed out: application in the order of classes,
// then deletion in reverse.
const levels = 8

func level(k store.Key, tombstone bool) int {
	class := int(k.Class())
	if tombstone {
		return levels - 1 - class
	}
	return class
}

// state is where a key stands in the queue.
type state uint8

const (
	ready   state = iota // waits for a worker
	running              // a worker has it
	delayed              // waits for its time
	parked               // waits for what it needs, see needs
)

type item struct {
	key      store.Key
	state    state
	level    int
	again    bool // changed while running
	failures int
	due      time.Time
	index    int         // in the heap of delayed items
	waiting  []store.Key // parked behind this item
}

func (it *item) place() *store.Key { return &it.key }

// queue gives each key to one worker at a time. A key that is added again while a worker has it is
// dequeued once more.
type queue struct {
	mu    sync.Mutex
	items *compactmap.Index[store.Key, item]
	near  besides
	ready [levels][]store.Key
	later dueHeap
	wake  chan struct{}
}

func newQueue() *queue {
	return &queue{items: compactmap.NewIndex((*item).place), near: besides{}, wake: make(chan struct{}, 1)}
}

// add makes a key ready at once, also one that waits for a retry, because its desired state has changed.
func (q *queue) add(k store.Key, tombstone bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(k, tombstone)
}

// addAll is add for keys that have changed together: whoever gets one of them finds the others.
func (q *queue) addAll(keys []store.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range keys {
		q.addLocked(k, false)
	}
}

// beside are the keys that run Pods, or NetworkPolicies, in the namespace of a key.
func (q *queue) beside(k store.Key, kind func(store.Key) bool) (out []store.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for other := range q.near[namespaceOf{k.Space, k.Namespace}] {
		if kind(other) {
			out = append(out, other)
		}
	}
	return out
}

// hurry makes keys ready that wait for a retry.
func (q *queue) hurry(keys []store.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range keys {
		if it := q.items.Get(k); it != nil && it.state == delayed {
			heap.Remove(&q.later, it.index)
			q.pushLocked(it)
		}
	}
}

func (q *queue) addLocked(k store.Key, tombstone bool) {
	it := q.items.Get(k)
	if it == nil {
		it = &item{key: k, level: level(k, tombstone)}
		q.items.Put(it)
		q.near.put(k)
		q.pushLocked(it)
		return
	}
	it.level = level(k, tombstone)
	switch it.state {
	case running:
		it.again = true
	case delayed:
		heap.Remove(&q.later, it.index)
		it.failures = 0
		q.pushLocked(it)
	case ready, parked: // will be read anew when its turn comes
	}
}

// addAfter makes a key ready after a while, unless it is in the queue already.
func (q *queue) addAfter(k store.Key, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.items.Get(k); it != nil {
		if it.state == running {
			it.again = true
		}
		return
	}
	it := &item{key: k, level: level(k, false)}
	q.items.Put(it)
	q.near.put(k)
	q.delayLocked(it, d)
}

// kick makes delayed keys that satisfy the condition ready at once: what they waited for may be
// there.
func (q *queue) kick(condition func(store.Key) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for it := range q.items.All() {
		if it.state == delayed && condition(it.key) {
			heap.Remove(&q.later, it.index)
			q.pushLocked(it)
		}
	}
}

func (q *queue) pushLocked(it *item) {
	it.state = ready
	q.ready[it.level] = append(q.ready[it.level], it.key)
	q.signal()
}

func (q *queue) delayLocked(it *item, d time.Duration) {
	it.state = delayed
	it.due = time.Now().Add(d)
	heap.Push(&q.later, it)
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next waits for a key and gives it to the caller, who must call done. It returns false when ctx
// ends.
func (q *queue) next(ctx context.Context) (store.Key, bool) {
	for ctx.Err() == nil {
		k, found, wait := q.dequeue()
		if found {
			return k, true
		}
		awaitSignal(ctx, q.wake, wait)
	}
	return store.Key{}, false
}

// awaitSignal returns at the next signal, or after d when that is not 0.
func awaitSignal(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timeout:
	}
}

// dequeue returns a ready key, or how long until the next delayed one is due (0: none).
func (q *queue) dequeue() (store.Key, bool, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for len(q.later) > 0 && !q.later[0].due.After(now) {
		q.pushLocked(heap.Pop(&q.later).(*item))
	}
	for l := range q.ready {
		for len(q.ready[l]) > 0 {
			k := q.ready[l][0]
			q.ready[l] = q.ready[l][1:]
			it := q.items.Get(k)
			if it == nil || it.state != ready || it.level != l {
				if it != nil && it.state == ready && it.level != l {
					q.ready[it.level] = append(q.ready[it.level], k)
				}
				continue
			}
			if q.parkLocked(it) {
				continue
			}
			it.state = running
			q.signal() // another worker may find one too
			return k, true, 0
		}
		q.ready[l] = nil
	}
	if len(q.later) == 0 {
		return store.Key{}, false, 0
	}
	return store.Key{}, false, max(q.later[0].due.Sub(now), time.Millisecond)
}

// parkLocked puts a key behind what it needs, when that is ready or being applied. One that waits for
// a retry blocks nobody: it may never succeed, and the key may do without.
func (q *queue) parkLocked(it *item) bool {
	if it.level != int(store.ClassOther) {
		return false
	}
	for _, need := range needs(it.key) {
		if b := q.items.Get(need); b != nil && (b.state == ready || b.state == running) && b.level <= it.level {
			b.waiting = append(b.waiting, it.key)
			it.state = parked
			return true
		}
	}
	return false
}

// needs returns the keys that must be on the target before k can be. Pods are made as the default
// ServiceAccount of their namespace says at that moment.
func needs(k store.Key) []store.Key {
	var out []store.Key
	if k.Namespace != "" {
		out = append(out, store.Key{Space: k.Space, Resource: "namespaces", Name: k.Namespace})
	}
	if runsPods(k) {
		out = append(out, store.Key{
			Space: k.Space, Resource: "serviceaccounts", Namespace: k.Namespace, Name: site.DefaultAccount,
		})
	}
	if k.Group != "" {
		out = append(out, store.Key{
			Space: k.Space, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
			Name: k.Resource + "." + k.Group,
		})
	}
	return out
}

// turn puts a key back at its proper level, when its worker found that it is a tombstone, or is
// none any more. It reports false when the key was at that level.
func (q *queue) turn(k store.Key, tombstone bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items.Get(k)
	if it.level == level(k, tombstone) {
		return false
	}
	it.level = level(k, tombstone)
	q.pushLocked(it)
	return true
}

// done gives a key back. With a retry it comes again after a jittered time that doubles from base
// up to limit. It returns how often the key has failed in a row.
func (q *queue) done(k store.Key, retry bool, base, limit time.Duration) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items.Get(k)
	for _, w := range it.waiting {
		if other := q.items.Get(w); other != nil && other.state == parked {
			q.pushLocked(other)
		}
	}
	it.waiting = nil
	switch {
	case it.again:
		it.again = false
		it.failures = 0
		q.pushLocked(it)
	case retry:
		it.failures++
		q.delayLocked(it, backoff.Half(it.failures, base, limit))
	default:
		q.items.Delete(k)
		q.near.drop(k)
		return 0
	}
	return it.failures
}

// len is how many keys are not done.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.Len()
}

// dueHeap orders delayed items by their time.
type dueHeap []*item

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	it := x.(*item)
	it.index = len(*h)
	*h = append(*h, it)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = compactmap.Shrink(old[:len(old)-1])
	return it
}
