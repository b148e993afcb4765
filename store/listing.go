package store

import "iter"

// Listing is a snapshot of everything that is stored. An object is decoded when it is come to, each time that it is ranged over; what is not
// wanted costs nothing.
type Listing interface {
	// Keys gives every key with the bytes that are stored of it.
	Keys() iter.Seq2[Key, int]
	// Objects gives the objects whose keys are wanted; nil wants all.
	Objects(wanted func(Key) bool) iter.Seq[Write]
}

// ListingOf is a Listing of what is decoded already.
func ListingOf(all iter.Seq[Write]) Listing { return decoded(all) }

type decoded iter.Seq[Write]

func (d decoded) Keys() iter.Seq2[Key, int] {
	return func(yield func(Key, int) bool) {
		for w := range d {
			if !yield(w.Key, w.Size) {
				return
			}
		}
	}
}

func (d decoded) Objects(wanted func(Key) bool) iter.Seq[Write] {
	return func(yield func(Write) bool) {
		for w := range d {
			if (wanted == nil || wanted(w.Key)) && !yield(w) {
				return
			}
		}
	}
}
