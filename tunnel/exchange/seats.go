package exchange

import "sync"

// Seats count what is open: all together, and of each space. A space has a part of all at most, so that it keeps no
// other one out. Its methods may be called concurrently.
type Seats struct {
	Most, MostOfSpace int

	mu     sync.Mutex
	all    int
	spaces map[string]int
}

// Take takes a seat, and returns what gives it back, once; nil where there is none.
func (s *Seats) Take(space string) (give func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.Most || s.spaces[space] >= s.MostOfSpace {
		return nil
	}
	if s.spaces == nil {
		s.spaces = map[string]int{}
	}
	s.all++
	s.spaces[space]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.spaces[space]--; s.spaces[space] == 0 {
			delete(s.spaces, space)
		}
	}
}

// Taken is how many are taken, and by how many spaces.
func (s *Seats) Taken() (all, spaces int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all, len(s.spaces)
}
