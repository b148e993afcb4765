package tunnel

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/wire"
)

// Link is how both ends may use a link. A parent sends it in its Welcome, and again when it
// changes.
type Link struct {
	// Class is the kind of link. An unknown class counts as LAN.
	Class delta.Class `json:"class,omitempty"`
	// Hold is true when the budget of the day is used up. The child then sends only errors, changed
	// conditions and objects that are gone. Changes of users still go down.
	Hold bool `json:"hold,omitempty"`
}

func (Link) frame() wire.Type { return typeLink }

// up returns the FlowPolicy of reports.
func (l Link) up() delta.FlowPolicy {
	t := l.Class.Up()
	t.Hold = l.Hold
	return t
}

// LinkUse is how one session uses its link, as its parent decides, and how many bytes wait to
// cross. Its methods may be called concurrently.
type LinkUse struct {
	down    *delta.Regulator
	waiting atomic.Int64 // at the child

	changes store.Notifier

	mu     sync.Mutex
	link   Link
	narrow *Narrow
	wish   Wish
}

// NewLinkUse returns the state of a session that begins.
func NewLinkUse(l Link) *LinkUse {
	return &LinkUse{down: delta.NewRegulator(l.Class.Down()), link: l}
}

// Set changes how both sides use the link.
func (u *LinkUse) Set(l Link) {
	u.change(func() bool {
		if l == u.link {
			return false
		}
		u.link = l
		u.down.Set(l.Class.Down())
		return true
	})
}

// change has the child told of what set changes, where it reports that it has.
func (u *LinkUse) change(set func() bool) {
	u.mu.Lock()
	changed := set()
	u.mu.Unlock()
	if changed {
		u.changes.Notify()
	}
}

// SetNarrow changes what is taken away from what the child's site allows.
func (u *LinkUse) SetNarrow(n *Narrow) {
	u.change(func() bool {
		was := u.narrow
		u.narrow = n
		return !n.Equal(was)
	})
}

// narrowed returns what SetNarrow recorded.
func (u *LinkUse) narrowed() *Narrow {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.narrow
}

// SetWish changes what is wished of the child.
func (u *LinkUse) SetWish(w Wish) {
	u.change(func() bool {
		was := u.wish
		u.wish = w
		return w != was
	})
}

// wished returns what SetWish recorded.
func (u *LinkUse) wished() Wish {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.wish
}

// Waiting returns about how many bytes wait to cross, in both directions. The child's share may be
// as old as its reporting interval.
func (u *LinkUse) Waiting() int64 { return u.down.Waiting() + u.waiting.Load() }

// Now returns how the link is used.
func (u *LinkUse) Now() Link {
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
