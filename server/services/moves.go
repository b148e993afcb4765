package services

import (
	"maps"
	"sync"
	"time"

	"skerry.dev/skerry/store"
)

// moves remembers which Services were on their way a moment ago, as far as somebody has called them. A move is over
// when the new target reports a ready Pod; its EndpointSlices may have that a second later, and it answers then.
type moves struct {
	now func(k store.Key) bool

	mu   sync.Mutex
	seen map[store.Key]time.Time
}

// settleTime is how long a Service counts as on its way after it was.
const settleTime = 5 * time.Second

// mostSeen is how many are remembered before those that count no more are forgotten.
const mostSeen = 1000

// is reports whether what answers for a Service is on its way, or was until a moment ago.
func (m *moves) is(k store.Key) bool {
	moving := m.now(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	over := func(_ store.Key, at time.Time) bool { return now.Sub(at) >= settleTime }
	if moving {
		if m.seen == nil {
			m.seen = map[store.Key]time.Time{}
		}
		if len(m.seen) >= mostSeen {
			maps.DeleteFunc(m.seen, over)
		}
		m.seen[k] = now
		return true
	}
	at, seen := m.seen[k]
	return seen && !over(k, at)
}
