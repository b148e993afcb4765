package delta

import "time"

// Batches of this many entries are what a window is steered to: fewer shrink it, more do not grow it further.
const (
	fewEntries    = 2
	enoughEntries = 24
)

// pace decides when the next batch may go. Its zero value sends at once, always.
type pace struct {
	window Window
	now    time.Duration // the present window
	last   time.Time     // of the batch before
}

// wait is how long to wait before sending at a time.
func (p *pace) wait(at time.Time) time.Duration {
	if p.last.IsZero() {
		return 0
	}
	return max(0, p.last.Add(p.now).Sub(at))
}

// sent notes a batch of n entries; waited tells that it had to wait for the window.
func (p *pace) sent(at time.Time, n int, waited bool) {
	p.last = at
	switch {
	case !waited:
		p.now = p.window.Min
	case n < fewEntries:
		p.now = max(p.now/2, p.window.Min)
	case n < enoughEntries:
		p.now = min(p.now*2, p.window.Max)
	}
}
