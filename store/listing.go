package store

import "iter"

// Listing is a snapshot of everything that is stored. An object is decoded when it is come to, each
// time that it is ranged over; what is not wanted costs nothing.
type Listing interface {
	// Keys gives every key with the bytes that are stored of it.
	Keys() iter.Seq2[Key, int]
	// Objects gives the objects whose keys are wanted; nil wants all.
	Objects(wanted func(Key) bool) iter.Seq[Write]
}
