package delta

import (
	"bytes"
	"slices"

	"skerry.dev/skerry/store"
)

// recent has the bodies that were stored last, the newest at the end.
type recent struct {
	limit, bytes int
	entries      []store.Entry
}

// get returns an entry with this hash.
func (r *recent) get(k store.Key, h store.Hash) (store.Entry, bool) {
	for i := len(r.entries) - 1; i >= 0; i-- {
		if e := r.entries[i]; e.Hash == h && e.Key == k {
			return e, true
		}
	}
	return store.Entry{}, false
}

// mostRecent bounds their number, because they are searched one by one.
const mostRecent = 16

// put stores what was committed.
func (r *recent) put(stored []store.Entry) {
	if r.limit == 0 {
		return
	}
	for _, e := range stored[max(0, len(stored)-mostRecent):] {
		r.drop(e.Key)
		if e.Tombstone || len(e.Body) > r.limit {
			continue
		}
		if len(stored) > 1 {
			e.Body = bytes.Clone(e.Body) // it may lie in the memory of the whole batch
		}
		r.entries = append(r.entries, e)
		for r.bytes += len(e.Body); r.bytes > r.limit || len(r.entries) > mostRecent; {
			r.drop(r.entries[0].Key)
		}
	}
}

func (r *recent) drop(k store.Key) {
	for i, e := range r.entries {
		if e.Key == k {
			r.bytes -= len(e.Body)
			r.entries = slices.Delete(r.entries, i, i+1)
			return
		}
	}
}
