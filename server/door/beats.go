package door

import "time"

const (
	// heartbeat is how often lastSeen of a connected target is written when nothing else changes. When its session ends it is written in any case: the
	// heartbeats are what is known after the center itself was lost.
	heartbeat = time.Minute
	// beatShare is how many times as long as such a write took there is no other, so that those of thousands of targets, which come ever more seldom,
	// take half a percent of a core; slowest is the most that it is.
	beatShare = 200
	slowest   = 10 * time.Second
)

// beats says when the next heartbeat may be written. It belongs to the goroutine that keeps statuses.
type beats struct{ next time.Time }

// due tells whether one may be written now, at most one in a glance.
func (b *beats) due(now time.Time) bool { return !now.Before(b.next) }

// wrote notes how long writing a status took.
func (b *beats) wrote(now time.Time, took time.Duration) {
	b.next = now.Add(min(beatShare*took, slowest))
}
