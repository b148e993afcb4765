package compactmap

import (
	"hash/maphash"
	"iter"
)

// Index finds values by a key that they hold themselves and that never changes: it keeps a hash and
// a pointer of each.
type Index[K comparable, V any] struct {
	key    func(*V) *K
	hash   func(K) uint64
	values Map[uint64, *V]
	double Map[K, *V] // values whose hash another one had when they came; there is hardly ever any
}

// NewIndex returns an empty index. Key tells where a value holds its key.
func NewIndex[K comparable, V any](key func(*V) *K) *Index[K, V] {
	seed := maphash.MakeSeed()
	return &Index[K, V]{key: key, hash: func(k K) uint64 { return maphash.Comparable(seed, k) }}
}

// Len is the number of values.
func (x *Index[K, V]) Len() int { return x.values.Len() + x.double.Len() }

// Get returns the value of a key, nil where there is none.
func (x *Index[K, V]) Get(k K) *V {
	if v := x.values.Get(x.hash(k)); v != nil && *x.key(v) == k {
		return v
	}
	return x.double.Get(k)
}

// Put takes a value in, in the place of one with the same key.
func (x *Index[K, V]) Put(v *V) {
	k := *x.key(v)
	h := x.hash(k)
	if first := x.values.Get(h); first != nil && *x.key(first) != k || x.double.Has(k) {
		x.double.Put(k, v)
		return
	}
	x.values.Put(h, v)
}

// Delete takes the value of a key out, if there is one.
func (x *Index[K, V]) Delete(k K) {
	h := x.hash(k)
	if first := x.values.Get(h); first != nil && *x.key(first) == k {
		x.values.Delete(h)
		return
	}
	x.double.Delete(k)
}

// All visits every value, with what Map.All says of changes meanwhile.
func (x *Index[K, V]) All() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for _, v := range x.values.All() {
			if !yield(v) {
				return
			}
		}
		for _, v := range x.double.All() {
			if !yield(v) {
				return
			}
		}
	}
}
