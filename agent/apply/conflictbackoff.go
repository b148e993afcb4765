package apply

import (
	"sync"
	"time"

	"skerry.dev/skerry/agent/backoff"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// conflictBackoff records how often an object was written against another writer. So two parties
// that disagree do not write as fast as they can: at once the first time, then ever slower.
type conflictBackoff struct {
	mu   sync.Mutex
	last compactmap.Map[store.Key, conflict]
}

type conflict struct {
	times int
	at    time.Time // of the last write; it may be still to come
	next  time.Time // not before
}

// contested is how often in a row an object is restored before the report names the other writer.
const contested = 3

// Times of a contest. One that was quiet for contestWindow is over.
const (
	contestFirst  = time.Second
	contestLimit  = 5 * time.Minute
	contestWindow = 10 * time.Minute
)

// wait returns how long an object must wait until it may be written against another writer.
func (c *conflictBackoff) wait(k store.Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Until(c.last.Get(k).next))
}

// undecided returns how long it takes until an object that was reported as contested counts as
// undisputed; 0 for others.
func (c *conflictBackoff) undecided(k store.Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.last.Get(k)
	if seen.times < contested {
		return 0
	}
	return max(0, time.Until(seen.next))
}

// early returns how long the last recorded write is still to wait.
func (c *conflictBackoff) early(k store.Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Until(c.last.Get(k).at))
}

// allow lets a waiting write be done now, because the desired state has changed.
func (c *conflictBackoff) allow(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen, now := c.last.Get(k), time.Now(); seen.at.After(now) {
		seen.at = now
		c.last.Put(k, seen)
	}
}

// end drops a contest: the object is not desired any more.
func (c *conflictBackoff) end(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Delete(k)
}

// wrote records such a write, made or scheduled. It returns how many there were in a row, and how
// long to wait for the next. While one is scheduled there is no other.
func (c *conflictBackoff) wrote(k store.Key) (int, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for other, seen := range c.last.All() {
		if now.Sub(seen.at) > contestWindow && now.After(seen.next) {
			c.last.Delete(other)
		}
	}
	seen := c.last.Get(k)
	if seen.at.After(now) {
		return seen.times, time.Until(seen.next)
	}
	if seen.next.Before(now) {
		seen.next = now
	}
	seen.times++
	seen.at = seen.next
	wait := backoff.Half(seen.times, contestFirst, contestLimit)
	seen.next = seen.next.Add(wait)
	c.last.Put(k, seen)
	return seen.times, wait
}
