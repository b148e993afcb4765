package apply

import (
	"sync"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/shrinking"
)

// going remembers which objects were deleted from here, by UID: when one is desired again before the target is rid of it, that it goes is nobody
// else's hand.
type going struct {
	mu   sync.Mutex
	uids shrinking.Map[store.Key, string]
}

// begin is called before the target is asked to delete an object.
func (g *going) begin(k store.Key, uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uids.Put(k, uid)
}

// has tells whether the deletion of an object was asked for, and its outcome is not known.
func (g *going) has(k store.Key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return uid != "" && g.uids.Get(k) == uid
}

// end forgets the deletion: its outcome is known.
func (g *going) end(k store.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uids.Delete(k)
}

// gone tells whether the object that went was deleted from here, and forgets the deletion.
func (g *going) gone(k store.Key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.uids.Get(k) != uid {
		return false
	}
	g.uids.Delete(k)
	return true
}
