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
	of  map[string]int // how many each space has
}

type kept[V any] struct {
	is    V
	until time.Time
	space string
}

// MostKept is how many callers an Affinity remembers. Beyond that some are forgotten, of the space that has most.
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

// Keep notes what has answered a caller of a space's Service, for some time.
func (a *Affinity[K, V]) Keep(space string, caller K, is V, during time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all, a.of = map[K]kept[V]{}, map[string]int{}
	}
	now := time.Now()
	if a.forgetLocked(caller); len(a.all) >= MostKept {
		a.makeRoomLocked(now)
	}
	a.all[caller] = kept[V]{is, now.Add(during), space}
	a.of[space]++
}

// makeRoomLocked forgets those that are over, and so many others of the space that has most that this is seldom: one
// with many callers costs no other its own.
func (a *Affinity[K, V]) makeRoomLocked(now time.Time) {
	most := ""
	for space, n := range a.of {
		if n > a.of[most] {
			most = space
		}
	}
	leave := a.of[most] * 3 / 4
	for one, k := range a.all {
		if !now.Before(k.until) || k.space == most && a.of[most] > leave {
			a.forgetLocked(one)
		}
	}
}

func (a *Affinity[K, V]) forgetLocked(caller K) {
	k, known := a.all[caller]
	if !known {
		return
	}
	delete(a.all, caller)
	if a.of[k.space]--; a.of[k.space] == 0 {
		delete(a.of, k.space)
	}
}
