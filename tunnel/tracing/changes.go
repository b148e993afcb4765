package tracing

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"skerry.dev/skerry/store"
)

const (
	// maxChanges bounds the changes that are followed at a time; the oldest goes first.
	maxChanges = 1024
	// maxAge is how long a change is followed.
	maxAge = 10 * time.Minute
)

// changes are those that are followed, by key: the newest of each.
type changes struct {
	few atomic.Int64 // how many there are; 0 is looked up without the lock

	mu    sync.Mutex
	of    map[store.Key]*change
	order list.List // of *change, oldest first
	// newest is the newest revision that was seen.
	newest int64
}

type change struct {
	key     store.Key
	context trace.SpanContext
	began   time.Time
	place   *list.Element
	// since is the revision that the write was made after, at its beginning.
	since int64
	// revision is that of the write, 0 while it is not known.
	revision int64
	// sent is the revision of the feed's entry that carries the change, 0 while there is none.
	sent int64
}

func newChanges() *changes { return &changes{of: map[store.Key]*change{}} }

// put follows a change instead of an earlier one of its key.
func (c *changes) put(k store.Key, of trace.SpanContext, now time.Time) *change {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.of[k]; before != nil {
		c.removeLocked(before)
	}
	is := &change{key: k, context: of, began: now, since: c.newest}
	is.place = c.order.PushBack(is)
	c.of[k] = is
	for c.order.Len() > maxChanges {
		c.removeLocked(c.order.Front().Value.(*change))
	}
	c.few.Store(int64(c.order.Len()))
	return is
}

// wrote notes the revision of a change; 0 means that it came to nothing.
func (c *changes) wrote(is *change, revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = max(c.newest, revision)
	if is.revision = revision; revision == 0 && c.of[is.key] == is {
		c.removeLocked(is)
	}
}

// carriedBy returns the change that an entry of a feed carries.
func (c *changes) carriedBy(k store.Key, revision int64, now time.Time) (trace.SpanContext, bool) {
	if c.few.Load() == 0 {
		return trace.SpanContext{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.currentLocked(k, now)
	if is == nil || revision < is.revision || revision <= is.since || is.sent != 0 && is.sent != revision {
		return trace.SpanContext{}, false
	}
	is.sent, c.newest = revision, max(c.newest, revision)
	return is.context, true
}

// get returns the change of a key.
func (c *changes) get(k store.Key, now time.Time) (trace.SpanContext, bool) {
	if c.few.Load() == 0 {
		return trace.SpanContext{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.currentLocked(k, now)
	if is == nil {
		return trace.SpanContext{}, false
	}
	return is.context, true
}

// done ends the following of a change.
func (c *changes) done(k store.Key, of trace.SpanContext) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is := c.of[k]; is != nil && is.context.Equal(of) {
		c.removeLocked(is)
	}
}

// currentLocked returns the change of a key, and drops those that are too old.
func (c *changes) currentLocked(k store.Key, now time.Time) *change {
	for first := c.order.Front(); first != nil; first = c.order.Front() {
		oldest := first.Value.(*change)
		if now.Sub(oldest.began) <= maxAge {
			break
		}
		c.removeLocked(oldest)
	}
	return c.of[k]
}

func (c *changes) removeLocked(is *change) {
	delete(c.of, is.key)
	c.order.Remove(is.place)
	c.few.Store(int64(c.order.Len()))
}
