package delta

import "time"

// Batches of this many entries are what a window is steered to: fewer shrink it, more do not grow
// it further.
const (
	fewEntries    = 2
	enoughEntries = 24
)

// urgentWindow is the longest that an error or a changed condition waits for its window, on any
// link.
const urgentWindow = time.Second

// pace decides when the next batch may go.
type pace struct {
	now  time.Duration // the present window
	last time.Time     // of the batch before
}

// wait returns how long to wait at a time before sending what has waited since another.
func (p *pace) wait(w Window, at, since time.Time, urgent bool) time.Duration {
	now, first := min(p.now, w.Max), w.First
	if urgent {
		now, first = min(now, urgentWindow), 0
	}
	d := since.Add(first).Sub(at)
	if !p.last.IsZero() {
		d = max(d, p.last.Add(now).Sub(at))
	}
	return max(0, d)
}

// sent records a batch of n entries. waited is true if it had to wait for the window.
func (p *pace) sent(w Window, at time.Time, n int, waited bool) {
	p.last = at
	switch {
	case !waited:
		p.now = w.Min
	case n < fewEntries:
		p.now = max(p.now/2, w.Min)
	case n < enoughEntries:
		p.now = max(w.Min, min(p.now*2, w.Max))
	}
}
