package store

import (
	"cmp"
	"slices"
)

// digestHistory is what a feed had at its last steps, oldest first. The zero value remembers
// nothing.
type digestHistory struct {
	limit int
	steps []digestAt
}

// digestAt is a place in a feed, and the digest of all that the feed had there.
type digestAt struct {
	seq   int64
	whole Digest
}

// Recalling has the feed remember the digests of its last n steps at least, and of twice as many at
// most, 24 bytes each, see Recall; it is called before anything else. It returns the feed.
func (f *Feed) Recalling(n int) *Feed {
	f.history.limit = n
	return f
}

// Recall finds the place at which the feed had exactly what a digest says: a receiver that has that
// lacks what Read returns behind the cursor, and nothing else, whatever it says of its position. It
// knows the steps that Recalling asks for, back to the last tombstone that was forgotten.
func (f *Feed) Recall(whole Digest) (Cursor, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range slices.Backward(f.history.steps) {
		if h.whole == whole {
			return Cursor(h.seq), true
		}
	}
	return 0, false
}

// add notes what the feed has now. Twice the limit is kept before the older half is dropped.
func (h *digestHistory) add(seq int64, whole Digest) {
	if h.limit == 0 {
		return
	}
	if len(h.steps) >= 2*h.limit {
		h.steps = append(h.steps[:0], h.steps[h.limit:]...)
	}
	h.steps = append(h.steps, digestAt{seq, whole})
}

// forget drops the steps from before a tombstone that nobody who reads on from there would be told
// of any more.
func (h *digestHistory) forget(tombstone int64) {
	n, _ := slices.BinarySearchFunc(h.steps, tombstone, func(d digestAt, t int64) int {
		return cmp.Compare(d.seq, t)
	})
	h.steps = h.steps[n:]
}
