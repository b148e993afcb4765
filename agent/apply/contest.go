package apply

import (
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/shrinking"
)

// contests remembers how often an object had to be written against another's hand, so that two parties that disagree do not write as fast as
// they can: at once the first time, then ever slower.
type contests struct {
	mu   sync.Mutex
	last shrinking.Map[store.Key, contest]
}

type contest struct {
	times int
	at    time.Time // of the last write; it may be still to come
	next  time.Time // not before
}

// contested is how often in a row an object is set back before it is said that somebody disagrees.
const contested = 3

// Times of a contest. One that was quiet for contestWindow is over.
const (
	contestFirst  = time.Second
	contestLimit  = 5 * time.Minute
	contestWindow = 10 * time.Minute
)

// wait is how long an object has to wait until it may be written against another's hand.
func (c *contests) wait(k store.Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Until(c.last.Get(k).next))
}

// undecided is how long it takes until an object that was said to be contested counts as left in peace, 0 for others.
func (c *contests) undecided(k store.Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.last.Get(k)
	if seen.times < contested {
		return 0
	}
	return max(0, time.Until(seen.next))
}

// early is how long the last write that was recorded is still to wait.
func (c *contests) early(k store.Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Until(c.last.Get(k).at))
}

// allow lets a write that is to wait be done now: what is desired is something else.
func (c *contests) allow(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen, now := c.last.Get(k), time.Now(); seen.at.After(now) {
		seen.at = now
		c.last.Put(k, seen)
	}
}

// end forgets a contest: the object is not wanted any more.
func (c *contests) end(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Delete(k)
}

// wrote records such a write, made or to be made as soon as it may be. It returns how often it was done in a row, and how long to wait for the next. While
// one is still to come there is no other.
func (c *contests) wrote(k store.Key) (int, time.Duration) {
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
	wait := backoff(seen.times, contestFirst, contestLimit)
	seen.next = seen.next.Add(wait)
	c.last.Put(k, seen)
	return seen.times, wait
}
