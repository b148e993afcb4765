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
	// gathers is how many times as long as bringing all objects up to date that gather now the first
	// report waits for more, and longest the most: a change of an object that is on a thousand targets
	// is reported a thousand times, and until the last has it the center has more urgent things to do.
	gathers = 9
	longest = time.Second
	// guessed is how long reading one report takes, as long as none was read.
	guessed = 20 * time.Microsecond
	// burst is how many statuses of an object are written at once after a quiet time. From then on there
	// is one in each pause, the last: writes of the store are bounded by objects, not by reports.
	burst = 10
	pause = time.Second
)

// pacing lets reports gather, of an object that is on many targets, or whose status was written often just
// now. The zero value holds nothing.
type pacing struct {
	mu    sync.Mutex
	turns map[store.Key]turn      // of those that gather
	many  int                     // of these, on more than fewTargets
	spent map[store.Key]time.Time // until when the pauses last that statuses have used up
	each  time.Duration           // that one target of an object takes
}

// turn is when the reports of an object have gathered.
type turn struct {
	at   time.Time
	many bool
}

// took notes how long bringing an object up to date took.
func (p *pacing) took(targets int, d time.Duration) {
	if targets <= fewTargets {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = (3*cmp.Or(p.each, guessed) + d/time.Duration(targets)) / 4
}

// wrote notes that a status was written.
func (p *pacing) wrote(k store.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent == nil {
		p.spent = map[store.Key]time.Time{}
	}
	from := time.Now()
	if until := p.spent[k]; until.After(from) {
		from = until
	}
	p.spent[k] = from.Add(pause)
}

// restLocked is how long the next status of an object waits; 0 when it need not.
func (p *pacing) restLocked(k store.Key) time.Duration {
	until, ok := p.spent[k]
	if !ok {
		return 0
	}
	return max(0, time.Until(until)-(burst-1)*pause)
}

// wait is how long the reports of an object may gather from now on; 0 when they have gathered.
func (p *pacing) wait(k store.Key, targets int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	is, gathering := p.turns[k]
	rest, many := p.restLocked(k), targets > fewTargets
	if gathering {
		d := time.Until(is.at)
		if !many {
			d = min(d, rest)
		}
		if d <= 0 {
			p.dropLocked(k)
		}
		return max(0, d)
	}
	d := rest
	if many {
		one := time.Duration(targets) * cmp.Or(p.each, guessed)
		d = max(d, min(gathers*one*time.Duration(p.many+1), longest))
	}
	if d == 0 {
		return 0
	}
	if p.turns == nil {
		p.turns = map[store.Key]turn{}
	}
	p.turns[k] = turn{time.Now().Add(d), many}
	if many {
		p.many++
	}
	return d
}

// gathering reports whether the reports of an object will be read later in any case.
func (p *pacing) gathering(k store.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	is, ok := p.turns[k]
	return ok && time.Until(is.at) > 0
}

// forget drops what is known of an object that is on no target, or is gone.
func (p *pacing) forget(k store.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked(k)
	delete(p.spent, k)
}

func (p *pacing) dropLocked(k store.Key) {
	if p.turns[k].many {
		p.many--
	}
	delete(p.turns, k)
}

// sweep drops the pauses that are over.
func (p *pacing) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left map[store.Key]time.Time // a map does not shrink
	for k, until := range p.spent {
		if time.Until(until) <= 0 {
			continue
		}
		if left == nil {
			left = map[store.Key]time.Time{}
		}
		left[k] = until
	}
	p.spent = left
}
