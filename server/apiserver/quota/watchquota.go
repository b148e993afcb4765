package quota

import "skerry.dev/skerry/store"

// defaultWatches is how many watches a space may have open where its quota does not say: an
// informer of each kind for some dozens of controllers.
const defaultWatches = 1000

// Watches returns how many watches a space may have open. limited reports whether its quota says
// so.
func (u *Usage) Watches(space string) (most int, limited bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.spaces[space]; s != nil && s.limits.watches > 0 {
		return int(s.limits.watches), true
	}
	return defaultWatches, false
}

// Size returns how many bytes of an object are stored, 0 if that is not known yet.
func (u *Usage) Size(k store.Key) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return int64(u.sizes[u.hash(k)])
}

// Seen returns the revision up to which every write has been counted.
func (u *Usage) Seen() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.applied
}
