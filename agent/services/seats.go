package services

import (
	"sync"

	"skerry.dev/skerry/tunnel/exchange"
)

// How many connections callers of a site may have open: all together, and to the Services of one space.
const (
	mostConnections = exchange.MostOfServices
	mostOfSpace     = exchange.MostServicesOfSpace
)

// seats count what is open: all together, and of each space.
type seats struct {
	most, mostOfSpace int

	mu     sync.Mutex
	all    int
	spaces map[string]int
}

// take takes a seat, and returns what gives it back; nil where there is none.
func (s *seats) take(space string) (give func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.most || s.spaces[space] >= s.mostOfSpace {
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
