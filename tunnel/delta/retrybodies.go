package delta

import (
	"time"

	"skerry.dev/skerry/store"
)

// Pauses between two offers of an object whose body could not be had.
const (
	firstOffer = time.Second
	lastOffer  = time.Minute
)

// retryBodies are the objects that were left out of a batch because their bodies were not
// available. The receiver's position advances without them, so that one object delays no other.
// They are offered again until they are sent or gone.
type retryBodies map[store.Key]*offer

type offer struct {
	at    time.Time
	pause time.Duration
}

// add records that an object was left out. It reports whether that is new.
func (o retryBodies) add(k store.Key, now time.Time) bool {
	if known := o[k]; known != nil {
		known.pause = min(2*known.pause, lastOffer)
		known.at = now.Add(known.pause)
		return false
	}
	o[k] = &offer{now.Add(firstOffer), firstOffer}
	return true
}

// due returns the objects to offer now, and after which time there are others, 0 for never.
func (o retryBodies) due(now time.Time) (keys []store.Key, after time.Duration) {
	for k, offer := range o {
		if left := offer.at.Sub(now); left > 0 && (after == 0 || left < after) {
			after = left
		} else if left <= 0 {
			keys = append(keys, k)
		}
	}
	return keys, after
}

// retryBody puts what is due into the backlog. It returns after which time it must be called
// again, 0 for never.
func (s *sender) retryBody() time.Duration {
	now := time.Now()
	keys, after := s.retryBodies.due(now)
	for _, k := range keys {
		if e, ok := s.feed.Get(k); ok {
			s.backlog.add(now, e)
		} else {
			delete(s.retryBodies, k)
		}
	}
	return after
}
