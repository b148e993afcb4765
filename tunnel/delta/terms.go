package delta

import (
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/store"
)

// Window is the least time between two batches. It grows from Min to Max while there is much to send and shrinks when there is little. The
// first change after a pause waits for First: not at all where that is 0.
type Window struct{ First, Min, Max time.Duration }

// Terms say how a sender may use the link at present.
type Terms struct {
	Window Window
	// InFlightBytes is how many bytes of batches may wait for their acknowledgement; meanwhile changes coalesce.
	InFlightBytes int
	// Hold keeps back what is less urgent than a changed condition until the terms are others.
	Hold bool
}

// last is the least urgent priority that may go.
func (t Terms) last() store.Priority {
	if t.Hold {
		return store.PriorityCondition
	}
	return store.PriorityEvent
}

// Regulator holds the terms of a sender, which may change while it runs, and what the sender says of them. Its methods may be called
// concurrently.
type Regulator struct {
	waiting, flying atomic.Int64

	mu    sync.Mutex
	terms Terms

	bell store.Bell
}

// NewRegulator returns a regulator with its first terms.
func NewRegulator(t Terms) *Regulator { return &Regulator{terms: t} }

// Set changes the terms.
func (r *Regulator) Set(t Terms) {
	r.mu.Lock()
	changed := t != r.terms
	r.terms = t
	r.mu.Unlock()
	if changed {
		r.bell.Ring()
	}
}

func (r *Regulator) now() Terms {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.terms
}

// Waiting is about how many bytes the sender has not had acknowledged yet: those on their way, and those that wait for their window or
// are held back.
func (r *Regulator) Waiting() int64 { return r.waiting.Load() + r.flying.Load() }

// Class is what kind of link there is between two tiers. The zero value is LAN.
type Class string

// The classes of links.
const (
	LAN     Class = "lan"
	WAN     Class = "wan"
	Metered Class = "metered"
)

// Down are the terms of desired feeds: users wait for these. The first change goes at once on every link.
func (c Class) Down() Terms {
	switch c {
	case WAN:
		return Terms{Window: Window{Min: 100 * time.Millisecond, Max: time.Second}, InFlightBytes: 1 << 20}
	case Metered:
		return Terms{Window: Window{Min: time.Second, Max: 10 * time.Second}, InFlightBytes: 256 << 10}
	default:
		return Terms{InFlightBytes: 1 << 20}
	}
}

// Up are the terms of reported feeds.
func (c Class) Up() Terms {
	switch c {
	case WAN:
		return Terms{Window: Window{Min: 200 * time.Millisecond, Max: 5 * time.Second}, InFlightBytes: 128 << 10}
	case Metered:
		return Terms{Window: Window{First: time.Second, Min: 5 * time.Second, Max: 30 * time.Second}, InFlightBytes: 32 << 10}
	default:
		return Terms{Window: Window{Min: 50 * time.Millisecond, Max: time.Second}, InFlightBytes: 256 << 10}
	}
}
