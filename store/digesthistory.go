package store

import (
	"cmp"
	"slices"
)

// digestHistory has the digests of a feed after its last steps, oldest first. The zero value keeps
// none.
type digestHistory struct {
	limit int
	steps []digestAt
}

// digestAt is a place in a feed, and the digest of all that the feed had there.
type digestAt struct {
	seq   int64
	whole Digest
}

// WithHistory has the feed keep the digests of its last n steps at least, and 2n at most, 24 bytes
// each, for CursorOf. It returns the feed and must be called before anything else.
func (f *Feed) WithHistory(n int) *Feed {
	f.history.limit = n
	return f
}

// CursorOf returns the place at which the feed had exactly the entries of a digest. A receiver with
// that digest lacks what Read returns from there and nothing else, whatever its position is. It
// knows the steps that WithHistory keeps, back to the last tombstone that was forgotten.
func (f *Feed) CursorOf(whole Digest) (Cursor, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range slices.Backward(f.history.steps) {
		if h.whole == whole {
			return Cursor(h.seq), true
		}
	}
	return 0, false
}

// add records the digest after a step. Twice the limit is kept before the older half is dropped.
func (h *digestHistory) add(seq int64, whole Digest) {
	if h.limit == 0 {
		return
	}
	if len(h.steps) >= 2*h.limit {
		h.steps = append(h.steps[:0], h.steps[h.limit:]...)
	}
	h.steps = append(h.steps, digestAt{seq, whole})
}

// forget drops the steps before a tombstone, which no reader from there would be sent any more.
func (h *digestHistory) forget(tombstone int64) {
	n, _ := slices.BinarySearchFunc(h.steps, tombstone, func(d digestAt, t int64) int {
		return cmp.Compare(d.seq, t)
	})
	h.steps = h.steps[n:]
}
