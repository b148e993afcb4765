package summary

import (
	"sync"
	"time"

	"skerry.dev/skerry/store"
)

const (
	// fewTargets are read at every report: it costs next to nothing.
	fewTargets = 8
	// rests is how many times as long as reading what all of an object's targets report took nothing is read again, and longestRest the most: a change
	// of an object that is on a thousand targets is reported a thousand times.
	rests       = 9
	longestRest = time.Second
)

// pacing lets reports of an object that is on many targets gather. The zero value holds nothing.
type pacing struct {
	mu    sync.Mutex
	until map[store.Key]time.Time
}

// read notes how long reading the reports of an object took.
func (p *pacing) read(k store.Key, targets int, took time.Duration) {
	if targets <= fewTargets {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[store.Key]time.Time{}
	}
	p.until[k] = time.Now().Add(min(rests*took, longestRest))
}

// wait is how long the reports of an object may still gather.
func (p *pacing) wait(k store.Key, targets int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := time.Until(p.until[k])
	if d > 0 && targets > fewTargets {
		return d
	}
	delete(p.until, k)
	return 0
}

func (p *pacing) forget(k store.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, k)
}
