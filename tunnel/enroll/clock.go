package enroll

import (
	"slices"
	"sync"
	"time"
)

// Clock is what a site knows of the time. The machine's own clock may be wrong by any amount. What
// the parent said over a verified connection counts more. The package comment has the rules.
type Clock struct {
	mu    sync.Mutex
	least time.Time // it is not earlier than this: authenticated, and not contradicted by the machine
	// The machine's clock minus the parent's, as it was when the two were last compared, maybe by
	// an earlier process.
	offset time.Duration
	known  bool
	// When this process last heard the parent's time. At has a monotonic reading, so setting the
	// machine's clock does not change the time since.
	parent, at time.Time
}

// ClockState is what of a Clock survives a restart.
type ClockState struct {
	Least  time.Time     `json:"least"`
	Offset time.Duration `json:"offset,omitempty"`
}

// NewClock returns a clock that continues from what was known. The zero ClockState knows nothing.
func NewClock(s ClockState) *Clock {
	return &Clock{least: s.Least.Round(0), offset: s.Offset, known: s.Offset != 0}
}

// State returns what should survive a restart.
func (c *Clock) State() ClockState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() {
		c.proveLocked(c.parent.Add(time.Since(c.at)))
	}
	return ClockState{Least: c.least, Offset: c.offset}
}

// proveLocked raises the lower bound to the parent's time, or to the machine's if that is earlier
// and not known to be wrong. One of the two is wrong, and it need not be this one.
func (c *Clock) proveLocked(parent time.Time) {
	proven, machine := parent, time.Now().Round(0)
	if !machine.Before(c.least) && machine.Before(parent) {
		proven = machine
	}
	if proven.After(c.least) {
		c.least = proven.Round(0)
	}
}

// Learn records the time that a verified parent has just told.
func (c *Clock) Learn(parent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proveLocked(parent)
	c.parent, c.at = parent.Round(0), time.Now()
	c.offset, c.known = c.at.Round(0).Sub(c.parent), true
}

// Offset returns the machine's clock minus the parent's, now. ok is false until this process has
// compared them.
func (c *Clock) Offset() (offset time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return 0, false
	}
	return time.Now().Round(0).Sub(c.parent.Add(time.Since(c.at))), true
}

// Time returns the time by which everyone but the parent is judged. It is the machine's clock, or
// the most likely time if that clock is known to be wrong.
func (c *Clock) Time() time.Time {
	machine := time.Now()
	c.mu.Lock()
	wrong := machine.Before(c.least)
	c.mu.Unlock()
	if wrong {
		return c.Now()
	}
	return machine
}

// Now returns the most likely time.
func (c *Clock) Now() time.Time { return c.candidates()[0] }

// candidates returns the possible times, the most likely one first. None is before the lower bound.
func (c *Clock) candidates() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	machine := time.Now().Round(0)
	var out []time.Time
	if !c.at.IsZero() {
		out = append(out, c.parent.Add(time.Since(c.at)))
	}
	out = append(out, machine)
	if c.at.IsZero() && c.known {
		out = append(out, machine.Add(-c.offset))
	}
	out = slices.DeleteFunc(out, func(t time.Time) bool { return t.Before(c.least) })
	if len(out) == 0 {
		return []time.Time{c.least}
	}
	return out
}

// within returns the times at which a certificate may be judged. The authority has signed it, so
// its time has come: a clock that says otherwise is wrong and does not count. If no clock is left,
// this much is known.
func (c *Clock) within(notBefore time.Time) []time.Time {
	times := slices.DeleteFunc(c.candidates(), func(t time.Time) bool { return t.Before(notBefore) })
	if len(times) == 0 {
		return []time.Time{notBefore}
	}
	return times
}
