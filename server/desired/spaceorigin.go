package desired

import (
	"sync"
)

// spaceOrigin is the part of customize.Origin that a Space contributes.
type spaceOrigin struct {
	// uid is metadata.uid. A Namespace carries it to the targets, because a namespace there belongs
	// to one space and not to a later one of the same name.
	uid string
	// prefix is that of spec.namespaceMapping. Everything carries it: a site has to know it
	// whatever comes first.
	prefix string
}

// spaceOrigins are those of the Spaces by name. They have a lock of their own, because bodies are
// rendered with and without Delivery.mu held.
type spaceOrigins struct {
	mu  sync.RWMutex
	all map[string]spaceOrigin
}

func newSpaceOrigins() *spaceOrigins { return &spaceOrigins{all: map[string]spaceOrigin{}} }

// set stores what a space contributes; the zero value deletes it.
func (s *spaceOrigins) set(name string, m spaceOrigin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m == (spaceOrigin{}) {
		delete(s.all, name)
	} else {
		s.all[name] = m
	}
}

// get returns what a space contributes, the zero value when it is not known.
func (s *spaceOrigins) get(name string) spaceOrigin {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[name]
}

// SpaceUID returns the UID of a space, empty when it is not known.
func (st *State) SpaceUID(space string) string { return st.spaceOrigins.get(space).uid }
