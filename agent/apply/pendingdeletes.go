package apply

import (
	"sync"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// pendingDeletes has the objects that were deleted from here, by UID. When one is desired again
// before its deletion ends, that end is no external delete.
type pendingDeletes struct {
	mu   sync.Mutex
	uids compactmap.Map[store.Key, string]
}

// begin is called before the target is asked to delete an object.
func (g *pendingDeletes) begin(k store.Key, uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uids.Put(k, uid)
}

// has reports whether the deletion of an object was requested, and its outcome is unknown.
func (g *pendingDeletes) has(k store.Key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return uid != "" && g.uids.Get(k) == uid
}

// end drops the deletion: its outcome is known.
func (g *pendingDeletes) end(k store.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uids.Delete(k)
}

// gone reports whether the object that went was deleted from here, and drops the deletion.
func (g *pendingDeletes) gone(k store.Key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.uids.Get(k) != uid {
		return false
	}
	g.uids.Delete(k)
	return true
}
