package offers

import (
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	api "k8s.io/kubernetes/pkg/apis/core"
)

// pending is how many events a watch may have that its reader has not taken. Beyond that, but for
// those with which it begins, it ends, and its reader lists again.
const pending = 1000

// nodeWatch is one watch of the Nodes of a space.
type nodeWatch struct {
	table   *Table
	space   string
	selects selection
	queue   *eventQueue
}

func newNodeWatch(t *Table, space string, s selection) *nodeWatch {
	return &nodeWatch{table: t, space: space, selects: s, queue: newEventQueue()}
}

// change queues what a change of a target is for this watch. uses reports whether a space may use a
// target. The table's lock must be held.
func (w *nodeWatch) change(uses func(string, *target) bool, c change) {
	had := uses(w.space, c.before) && w.selects.matches(c.before.node)
	has := uses(w.space, c.after) && w.selects.matches(c.after.node)
	switch {
	case had && has:
		w.queue.add(watch.Event{Type: watch.Modified, Object: nodeIn(w.space, c.after.node)})
	case has:
		w.queue.add(watch.Event{Type: watch.Added, Object: nodeIn(w.space, c.after.node)})
	case had:
		gone := nodeIn(w.space, c.before.node)
		gone.ResourceVersion = strconv.FormatInt(c.revision, 10)
		w.queue.add(watch.Event{Type: watch.Deleted, Object: gone})
	}
}

// bookmark queues the end of the events with which the watch begins.
func (w *nodeWatch) bookmark(revision int64) {
	w.queue.add(watch.Event{Type: watch.Bookmark, Object: &api.Node{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.FormatInt(revision, 10),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}})
}

func (w *nodeWatch) start() { w.queue.start() }

// expire ends the watch. Its reader is told to list again.
func (w *nodeWatch) expire() { w.queue.expire() }

// ResultChan implements watch.Interface.
func (w *nodeWatch) ResultChan() <-chan watch.Event { return w.queue.out }

// Stop implements watch.Interface.
func (w *nodeWatch) Stop() {
	w.table.mu.Lock()
	delete(w.table.watches, w)
	w.table.mu.Unlock()
	w.queue.stop()
}

// eventQueue hands events to a reader without waiting for it.
type eventQueue struct {
	out  chan watch.Event
	done chan struct{}
	once sync.Once

	mu     sync.Mutex
	events []watch.Event
	begun  bool // the events of the beginning are queued
	ended  bool
	wake   chan struct{} // one slot
}

func newEventQueue() *eventQueue {
	return &eventQueue{out: make(chan watch.Event), done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

func (q *eventQueue) add(e watch.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	if q.begun && len(q.events) >= pending {
		q.endLocked()
		return
	}
	q.events = append(q.events, e)
	q.signal()
}

// expire ends the queue with an error that says to list again.
func (q *eventQueue) expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.endLocked()
	}
}

// endLocked replaces what waits by the last event. q.mu must be held.
func (q *eventQueue) endLocked() {
	status := apierrors.NewResourceExpired("what this watch shows has changed: list again").Status()
	q.events, q.ended = []watch.Event{{Type: watch.Error, Object: &status}}, true
	q.signal()
}

func (q *eventQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// start begins to hand out events.
func (q *eventQueue) start() {
	q.mu.Lock()
	q.begun = true
	q.mu.Unlock()
	go q.run()
}

func (q *eventQueue) stop() { q.once.Do(func() { close(q.done) }) }

func (q *eventQueue) run() {
	defer close(q.out)
	for {
		q.mu.Lock()
		events, ended := q.events, q.ended
		q.events = nil
		q.mu.Unlock()
		for _, e := range events {
			select {
			case q.out <- e:
			case <-q.done:
				return
			}
		}
		if ended && len(events) > 0 {
			return
		}
		select {
		case <-q.wake:
		case <-q.done:
			return
		}
	}
}
