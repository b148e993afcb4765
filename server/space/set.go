package space

import (
	"slices"
	"sync"
)

// Set is the spaces that exist. Root is always in it and never listed. All methods may be called
// concurrently.
type Set struct {
	mu     sync.RWMutex
	names  map[string]struct{}
	loaded bool
}

// NewSet returns a set with root alone, not loaded.
func NewSet() *Set { return &Set{names: map[string]struct{}{}} }

// Has reports whether the space exists.
func (s *Set) Has(name string) bool {
	if name == root {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.names[name]
	return ok
}

// Names lists the spaces, root left out, in order.
func (s *Set) Names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]string, 0, len(s.names))
	for n := range s.names {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// Loaded is false until the spaces are known after a start.
func (s *Set) Loaded() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.loaded
}

func (s *Set) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = struct{}{}
}

func (s *Set) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.names, name)
}

// replace makes the set hold exactly these names, and loaded.
func (s *Set) replace(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.names)
	for _, n := range names {
		s.names[n] = struct{}{}
	}
	s.loaded = true
}
