package tunnel

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/wire"
)

// Link is how the two ends of a link may use it. A parent says it in its Welcome, and again when it changes.
type Link struct {
	// Class is the kind of link; one that is not known here counts as a LAN.
	Class delta.Class `json:"class,omitempty"`
	// Hold keeps back what the child has to say but for errors, changed conditions and objects that are gone: the budget of the day is used
	// up. What a user changes goes down all the same.
	Hold bool `json:"hold,omitempty"`
}

func (Link) frame() wire.Type { return typeLink }

// up are the terms of reports.
func (l Link) up() delta.Terms {
	t := l.Class.Up()
	t.Hold = l.Hold
	return t
}

// Use is a parent's say in how the link of one session is used, and what it knows of it. Its methods may be called concurrently.
type Use struct {
	down    *delta.Regulator
	waiting atomic.Int64 // at the child

	bell store.Bell

	mu     sync.Mutex
	link   Link
	narrow *Narrow
}

// NewUse returns the use of a session that begins.
func NewUse(l Link) *Use {
	return &Use{down: delta.NewRegulator(l.Class.Down()), link: l}
}

// Set changes how the link is used, on both sides.
func (u *Use) Set(l Link) {
	u.mu.Lock()
	changed := l != u.link
	if changed {
		u.link = l
		u.down.Set(l.Class.Down())
	}
	u.mu.Unlock()
	if changed {
		u.bell.Ring()
	}
}

// SetNarrow changes what is taken away of what the child's site allows.
func (u *Use) SetNarrow(n *Narrow) {
	u.mu.Lock()
	changed := !n.Equal(u.narrow)
	u.narrow = n
	u.mu.Unlock()
	if changed {
		u.bell.Ring()
	}
}

// narrowed is what SetNarrow said.
func (u *Use) narrowed() *Narrow {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.narrow
}

// Waiting is about how many bytes wait to cross, in both directions; the child's share is up to a ping's interval old.
func (u *Use) Waiting() int64 { return u.down.Waiting() + u.waiting.Load() }

// Now is how the link is used.
func (u *Use) Now() Link {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.link
}

// waits takes what a child says of its reports.
func (p *parent) waits(payload []byte) {
	const atMost = 1 << 40
	if v, n := binary.Uvarint(payload); n > 0 {
		p.Use.waiting.Store(int64(min(v, atMost)))
	}
}

// waitingPayload says how many bytes of reports wait.
func waitingPayload(n int64) []byte { return binary.AppendUvarint(nil, uint64(max(0, n))) }
