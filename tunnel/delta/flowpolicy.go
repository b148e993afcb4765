package delta

import (
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/store"
)

// Window is the least time between two batches. It grows from Min to Max while there is much to
// send, and shrinks when there is little. The first change after a pause waits for First, which may
// be 0. State is the least time between two batches of what is as urgent as a state, where that does
// not wait for the window of all: somebody looks at the status of a placed object, and it is small. It is
// 0 where everything shares the one window.
type Window struct{ First, Min, Max, State time.Duration }

// FlowPolicy limits how a sender may use the link at present.
type FlowPolicy struct {
	Window Window
	// InFlightBytes bounds the bytes of batches that are not acknowledged. Meanwhile changes
	// coalesce.
	InFlightBytes int
	// Hold keeps back what is less urgent than a changed condition, until it is false again.
	Hold bool
}

// last returns the least urgent priority that may go.
func (t FlowPolicy) last() store.Priority {
	if t.Hold {
		return store.PriorityCondition
	}
	return store.PriorityEvent
}

// Regulator has the present FlowPolicy of a sender, and how many bytes wait there. The policy may
// change while the sender runs. Its methods may be called concurrently.
type Regulator struct {
	waiting, flying atomic.Int64

	mu    sync.Mutex
	terms FlowPolicy

	changes store.Notifier
}

// NewRegulator returns a Regulator with its first policy.
func NewRegulator(t FlowPolicy) *Regulator { return &Regulator{terms: t} }

// Set changes the policy.
func (r *Regulator) Set(t FlowPolicy) {
	r.mu.Lock()
	changed := t != r.terms
	r.terms = t
	r.mu.Unlock()
	if changed {
		r.changes.Notify()
	}
}

func (r *Regulator) now() FlowPolicy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.terms
}

// Waiting returns about how many bytes are not acknowledged yet. These are in flight, wait for
// their window, or are kept back.
func (r *Regulator) Waiting() int64 { return r.waiting.Load() + r.flying.Load() }

// Class is the kind of link between two tiers. The zero value is LAN.
type Class string

// The classes of links.
const (
	LAN     Class = "lan"
	WAN     Class = "wan"
	Metered Class = "metered"
)

// Down returns the policy of desired feeds. Users wait for these, so the first change goes at once
// on every link.
func (c Class) Down() FlowPolicy {
	switch c {
	case WAN:
		return FlowPolicy{Window: Window{Min: 100 * time.Millisecond, Max: time.Second}, InFlightBytes: 1 << 20}
	case Metered:
		return FlowPolicy{Window: Window{Min: time.Second, Max: 10 * time.Second}, InFlightBytes: 256 << 10}
	default:
		return FlowPolicy{InFlightBytes: 1 << 20}
	}
}

// Up returns the policy of reported feeds.
func (c Class) Up() FlowPolicy {
	switch c {
	case WAN:
		return FlowPolicy{Window: Window{Min: 200 * time.Millisecond, Max: 5 * time.Second}, InFlightBytes: 128 << 10}
	case Metered:
		return FlowPolicy{
			Window:        Window{First: time.Second, Min: 5 * time.Second, Max: 30 * time.Second},
			InFlightBytes: 32 << 10,
		}
	default:
		return FlowPolicy{
			Window:        Window{Min: 50 * time.Millisecond, Max: time.Second, State: 60 * time.Millisecond},
			InFlightBytes: 256 << 10,
		}
	}
}
