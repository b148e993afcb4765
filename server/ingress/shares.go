package ingress

import "sync"

// How many may be open: all, of one space, and of one source of callers (tunnel.SourceOf). A space has a part of all at
// the most, so that slow callers of one keep out no callers of another.
const (
	mostConnections         = 8192
	mostConnectionsOfSpace  = 4096
	mostConnectionsOfSource = 1024
	mostRequests            = 4096
	mostRequestsOfSpace     = 1024
)

// shares counts what is open.
type shares struct {
	most, mostOfSpace int

	mu     sync.Mutex
	all    int
	spaces map[string]int
}

// take counts one of a space, until done is called. It returns nil where there is no room.
func (s *shares) take(space string) (done func()) {
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
