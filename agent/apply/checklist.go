package apply

import (
	"sync"
	"time"

	"skerry.dev/skerry/store"
)

// checklist closes done when each key of a set was ticked.
type checklist struct {
	mu   sync.Mutex
	open map[store.Key]bool
	done chan struct{}
}

// start gives the set. It is called once.
func (c *checklist) start(keys map[store.Key]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = keys
	if len(keys) == 0 {
		close(c.done)
	}
}

func (c *checklist) tick(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open[k] {
		return
	}
	delete(c.open, k)
	if len(c.open) == 0 {
		close(c.done)
	}
}

// losses remembers how often an object vanished from the target by another's hand, so that two parties that disagree do not
// write and delete as fast as they can.
type losses struct {
	mu   sync.Mutex
	last map[store.Key]loss
}

type loss struct {
	times int
	at    time.Time
}

// lossWindow is how long an object must stay for its losses to be forgotten.
const lossWindow = 10 * time.Minute

// wait records a loss and returns how long to wait before the object is written again: at once the first time.
func (l *losses) wait(k store.Key) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for other, seen := range l.last {
		if now.Sub(seen.at) > lossWindow {
			delete(l.last, other)
		}
	}
	seen := l.last[k]
	seen.times++
	seen.at = now
	l.last[k] = seen
	if seen.times == 1 {
		return 0
	}
	return backoff(seen.times-1, time.Second, 5*time.Minute)
}
