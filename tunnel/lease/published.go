package lease

import (
	"sync/atomic"
	"time"
)

// Published is the state of a child's lease as others of its process may read it at any time: what
// writes to the target, and the parent's half of a relay. Its methods may be called concurrently.
type Published struct{ state atomic.Pointer[State] }

// Set publishes a state.
func (p *Published) Set(s State) { p.state.Store(&s) }

// Ended reports whether what must not run twice must not run now.
func (p *Published) Ended(now time.Duration) bool {
	s := p.state.Load()
	return s != nil && s.HasEnded(now)
}

// Own returns what binds the parent's half of a relay. It is false before anything was published:
// then nothing may be promised.
func (p *Published) Own(now time.Duration) (Own, bool) {
	s := p.state.Load()
	if s == nil {
		return Own{}, false
	}
	return s.Own(now), true
}
