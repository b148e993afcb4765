package compactmap

import "iter"

// fewest is how many entries must have gone, and as many as are left, when a map is made anew: each
// that is copied stands for one that was deleted.
const fewest = 64

// Map is a map whose memory follows its length. The zero value is empty and ready.
type Map[K comparable, V any] struct {
	entries map[K]V
	gone    int // entries that were deleted since it was made
	walks   int // loops that are going on
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// Get returns the value of a key, the zero value where there is none.
func (m *Map[K, V]) Get(k K) V { return m.entries[k] }

// Find returns the value of a key and whether there is one.
func (m *Map[K, V]) Find(k K) (V, bool) {
	v, ok := m.entries[k]
	return v, ok
}

// Has reports whether there is a key.
func (m *Map[K, V]) Has(k K) bool {
	_, ok := m.entries[k]
	return ok
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(k K, v V) {
	if m.entries == nil {
		m.entries = map[K]V{}
	}
	m.entries[k] = v
}

// Delete takes a key out, if it is there.
func (m *Map[K, V]) Delete(k K) {
	before := len(m.entries)
	if delete(m.entries, k); len(m.entries) < before {
		m.gone++
		m.fit()
	}
}

// fit makes the map anew when most of what it has room for is gone.
func (m *Map[K, V]) fit() {
	if m.walks > 0 || m.gone < max(fewest, len(m.entries)) {
		return
	}
	fresh := make(map[K]V, len(m.entries))
	for k, v := range m.entries {
		fresh[k] = v
	}
	m.entries, m.gone = fresh, 0
}

// Keys visits the key of every entry, as All does.
func (m *Map[K, V]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for k := range m.All() {
			if !yield(k) {
				return
			}
		}
	}
}

// All visits every entry. Entries may be deleted meanwhile, and are not visited then, and others
// may be put, which may be visited. It counts as a change of the map: two goroutines must not do it
// at the same time.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.walks++
		defer func() {
			m.walks--
			m.fit()
		}()
		for k, v := range m.entries {
			if !yield(k, v) {
				return
			}
		}
	}
}
