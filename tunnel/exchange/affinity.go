package exchange

import (
	"sync"
	"time"
)

// Affinity remembers what has answered whom, of Services whose callers are to come back to what has answered them
// (sessionAffinity: ClientIP). The zero value remembers nothing; its methods may be called concurrently.
type Affinity[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]kept[V]
}

type kept[V any] struct {
	is    V
	until time.Time
}

// MostKept is how many callers an Affinity remembers. Beyond that some are forgotten.
const MostKept = 10_000

// Of is what has answered a caller. It is false where nobody knows, or too long ago.
func (a *Affinity[K, V]) Of(caller K) (is V, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, known := a.all[caller]
	if !known || !time.Now().Before(k.until) {
		return is, false
	}
	return k.is, true
}

// Keep notes what has answered a caller, for some time.
func (a *Affinity[K, V]) Keep(caller K, is V, during time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.all == nil {
		a.all = map[K]kept[V]{}
	}
	if _, known := a.all[caller]; !known && len(a.all) >= MostKept {
		for one, k := range a.all { // those that are over, and so many others that this is seldom
			if !now.Before(k.until) || len(a.all) > MostKept*3/4 {
				delete(a.all, one)
			}
		}
	}
	a.all[caller] = kept[V]{is, now.Add(during)}
}
