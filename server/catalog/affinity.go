package catalog

import "time"

// Affinities are the Services whose callers are to come back to the Pod that has answered them, and for how long after
// a call (placement.SessionAffinityOf). There are few.
type Affinities map[*Object]time.Duration

// Read takes over that of an object. The lock must be held.
func (a Affinities) Read(o *Object, is time.Duration) {
	if is > 0 {
		a[o] = is
	} else {
		delete(a, o)
	}
}
