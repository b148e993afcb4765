package apply

import (
	"time"

	"skerry.dev/skerry/agent/backoff"
	"skerry.dev/skerry/store"
)

// conflictBackoff records how often an object was written against another writer. So two parties
// that disagree do not write as fast as they can: at once the first time, then ever slower.
type conflictBackoff struct{ *tracks }

// conflict is never changed.
type conflict struct {
	times int
	at    time.Time // of the last write; it may be still to come
	next  time.Time // not before
}

// conflict is that about an object, the zero value for none.
func (t *tracked) conflict() conflict {
	if t.contest == nil {
		return conflict{}
	}
	return *t.contest
}

// over reports whether a contest has been quiet for long enough.
func (c conflict) over(now time.Time) bool { return now.Sub(c.at) > contestWindow && now.After(c.next) }

// contested is how often in a row an object is restored before the report names the other writer.
const contested = 3

// Times of a contest. One that was quiet for contestWindow is over.
const (
	contestFirst  = time.Second
	contestLimit  = 5 * time.Minute
	contestWindow = 10 * time.Minute
)

// seen is what is known of the contest about an object.
func (c conflictBackoff) seen(k store.Key) conflict {
	row := c.of(k)
	return row.conflict()
}

// wait returns how long an object must wait until it may be written against another writer.
func (c conflictBackoff) wait(k store.Key) time.Duration { return max(0, time.Until(c.seen(k).next)) }

// undecided returns how long it takes until an object that was reported as contested counts as
// undisputed; 0 for others.
func (c conflictBackoff) undecided(k store.Key) time.Duration {
	seen := c.seen(k)
	if seen.times < contested {
		return 0
	}
	return max(0, time.Until(seen.next))
}

// early returns how long the last recorded write is still to wait.
func (c conflictBackoff) early(k store.Key) time.Duration { return max(0, time.Until(c.seen(k).at)) }

// allow lets a waiting write be done now, because the desired state has changed.
func (c conflictBackoff) allow(k store.Key) {
	c.change(k, func(t *tracked) {
		if seen, now := t.conflict(), time.Now(); seen.at.After(now) {
			seen.at = now
			t.contest = &seen
		}
	})
}

// wrote records such a write, made or scheduled. It returns how many there were in a row, and how
// long to wait for the next. While one is scheduled there is no other.
func (c conflictBackoff) wrote(k store.Key) (times int, wait time.Duration) {
	now := time.Now()
	c.prune(now)
	c.change(k, func(t *tracked) {
		seen := t.conflict()
		if seen.over(now) {
			seen = conflict{}
		}
		if seen.at.After(now) {
			times, wait = seen.times, time.Until(seen.next)
			return
		}
		if seen.next.Before(now) {
			seen.next = now
		}
		seen.times++
		seen.at = seen.next
		times, wait = seen.times, backoff.Half(seen.times, contestFirst, contestLimit)
		seen.next = seen.next.Add(wait)
		t.contest = &seen
	})
	return times, wait
}

// prune drops all contests that are over, now and then.
func (c conflictBackoff) prune(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.pruned) <= contestWindow {
		return
	}
	c.pruned = now
	for k, row := range c.rows.All() {
		if row.contest == nil || !row.contest.over(now) {
			continue
		}
		if row.contest = nil; row == (tracked{}) {
			c.rows.Delete(k)
		} else {
			c.rows.Put(k, row)
		}
	}
}
