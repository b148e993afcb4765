package compactmap

import (
	"hash/maphash"
	"iter"
	"math/bits"
)

// Index finds values by a key that they hold themselves and that never changes. It is a hash table with
// linear probing, and keeps a pointer and one byte of the hash of each value: about 13 bytes.
type Index[K comparable, V any] struct {
	key   func(*V) *K
	hash  func(K) uint64
	slots []*V
	tags  []uint8 // of the slots: free, gone, or the low bits of a hash
	len   int
	used  int // slots that are not free
	walks int // loops that are going on
	made  int // how often the slots were made
}

// The tags of slots without a value. A search goes past what is gone, and ends at what is free.
const (
	free uint8 = iota
	gone
	firstTag
)

// NewIndex returns an empty index. Key tells where a value holds its key.
func NewIndex[K comparable, V any](key func(*V) *K) *Index[K, V] {
	seed := maphash.MakeSeed()
	return &Index[K, V]{key: key, hash: func(k K) uint64 { return maphash.Comparable(seed, k) }}
}

// Len is the number of values.
func (x *Index[K, V]) Len() int { return x.len }

// Get returns the value of a key, nil where there is none.
func (x *Index[K, V]) Get(k K) *V {
	if i, ok := x.find(k, x.hash(k)); ok {
		return x.slots[i]
	}
	return nil
}

// Put takes a value in, in the place of one with the same key.
func (x *Index[K, V]) Put(v *V) {
	k := *x.key(v)
	h := x.hash(k)
	if i, ok := x.find(k, h); ok {
		x.slots[i] = v
		return
	}
	if x.used >= len(x.slots)/5*4 {
		x.rebuild()
	}
	x.insert(v, h)
}

// Delete takes the value of a key out, if there is one.
func (x *Index[K, V]) Delete(k K) {
	i, ok := x.find(k, x.hash(k))
	if !ok {
		return
	}
	x.slots[i], x.tags[i] = nil, gone
	x.len--
	x.fit()
}

// fit makes the table anew when most of it is empty.
func (x *Index[K, V]) fit() {
	if x.walks == 0 && len(x.slots) > fewest && x.len < len(x.slots)*2/5 {
		x.rebuild()
	}
}

// All visits every value, with what Map.All says of changes meanwhile.
func (x *Index[K, V]) All() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		x.walks++
		defer func() {
			x.walks--
			x.fit()
		}()
		slots, made := x.slots, x.made
		for i := range slots {
			v := slots[i]
			if v != nil && made != x.made {
				v = x.Get(*x.key(v)) // the slots are those from before a Put made others
			}
			if v != nil && !yield(v) {
				return
			}
		}
	}
}

// find returns the slot of a key.
func (x *Index[K, V]) find(k K, h uint64) (slot int, ok bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	for i := x.start(h); ; i = x.next(i) {
		switch x.tags[i] {
		case free:
			return 0, false
		case tagOf(h):
			if *x.key(x.slots[i]) == k {
				return i, true
			}
		}
	}
}

// insert puts a value whose key is not there into the next slot without one. There must be one.
func (x *Index[K, V]) insert(v *V, h uint64) {
	i := x.start(h)
	for x.slots[i] != nil {
		i = x.next(i)
	}
	if x.tags[i] == free {
		x.used++
	}
	x.slots[i], x.tags[i] = v, tagOf(h)
	x.len++
}

// rebuild makes the table anew, without what is gone, and with room until four of five slots are used.
func (x *Index[K, V]) rebuild() {
	old := x.slots
	n := x.len + x.len*3/4 + 8
	x.made++
	x.slots, x.tags, x.len, x.used = make([]*V, n), make([]uint8, n), 0, 0
	for _, v := range old {
		if v != nil {
			x.insert(v, x.hash(*x.key(v)))
		}
	}
}

// start is where the search for a hash begins.
func (x *Index[K, V]) start(h uint64) int {
	i, _ := bits.Mul64(h, uint64(len(x.slots)))
	return int(i)
}

func (x *Index[K, V]) next(i int) int {
	if i++; i < len(x.slots) {
		return i
	}
	return 0
}

func tagOf(h uint64) uint8 { return max(firstTag, uint8(h)) }
