package summary

import (
	"cmp"
	"sync"
	"time"

	"skerry.dev/skerry/store"
)

const (
	// fewTargets are read at every report: it costs next to nothing.
	fewTargets = 8
	// gathers is how many times as long as reading what all of an object's targets report the first
	// report waits for more, and longest the most: a change of an object that is on a thousand
	// targets is reported a thousand times, and until the last has it the center has more urgent
	// things to do.
	gathers = 9
	longest = time.Second
	// guessed is how long reading one report takes, as long as none was read.
	guessed = 20 * time.Microsecond
)

// pacing lets reports of an object that is on many targets gather. The zero value holds nothing.
type pacing struct {
	mu    sync.Mutex
	until map[store.Key]time.Time // of those that gather
	each  time.Duration           // that reading one report takes
}

// read notes how long reading the reports of an object took.
func (p *pacing) read(targets int, took time.Duration) {
	if targets <= fewTargets {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = (3*cmp.Or(p.each, guessed) + took/time.Duration(targets)) / 4
}

// wait is how long the reports of an object may gather from now on; 0 when they have gathered.
func (p *pacing) wait(k store.Key, targets int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, gathering := p.until[k]
	if targets > fewTargets && !gathering {
		d := min(gathers*time.Duration(targets)*cmp.Or(p.each, guessed), longest)
		if p.until == nil {
			p.until = map[store.Key]time.Time{}
		}
		p.until[k] = time.Now().Add(d)
		return d
	}
	if d := time.Until(until); d > 0 && targets > fewTargets {
		return d
	}
	delete(p.until, k)
	return 0
}

// gathering reports whether the reports of an object will be read later in any case.
func (p *pacing) gathering(k store.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.until[k]
	return ok && time.Until(until) > 0
}

func (p *pacing) forget(k store.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, k)
}
