package storetest

import (
	"iter"

	"skerry.dev/skerry/store"
)

// Listing is a listing of what is decoded already.
type Listing iter.Seq[store.Write]

// Keys implements store.Listing.
func (l Listing) Keys() iter.Seq2[store.Key, int] {
	return func(yield func(store.Key, int) bool) {
		for w := range l {
			if !yield(w.Key, w.Size) {
				return
			}
		}
	}
}

// Objects implements store.Listing.
func (l Listing) Objects(wanted func(store.Key) bool) iter.Seq[store.Write] {
	return func(yield func(store.Write) bool) {
		for w := range l {
			if (wanted == nil || wanted(w.Key)) && !yield(w) {
				return
			}
		}
	}
}
