package crd

import (
	"context"
	"time"

	"skerry.dev/skerry/server/apiserver/request"
)

// idleTime is how long a server of custom resources is kept although nobody uses it. It starts
// again in some tens of milliseconds.
const idleTime = 10 * time.Minute

// use returns the server of a space like ForSpace, for a request that may last, such as a watch.
// The server does not stop before done is called.
func (s *Servers) use(space string) (server *Server, done func()) {
	for {
		if server = s.ForSpace(space); server == nil {
			return nil, nil
		}
		s.mu.Lock()
		current := s.server[space] == server || s.ctx.Err() != nil // it may have been found unused just now
		if current {
			server.uses++
		}
		s.mu.Unlock()
		if current {
			return server, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				server.uses--
				server.last = time.Now()
			}
		}
	}
}

// stopUnused stops servers that nobody uses until ctx ends.
func (s *Servers) stopUnused(ctx context.Context) {
	tick := time.NewTicker(s.idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, server := range s.takeUnused(time.Now()) {
			server.stop()
		}
	}
}

// takeUnused removes and returns the servers that may stop. A server stays while a definition of
// its space is unfinished. The center's own stays always, because every space uses it.
func (s *Servers) takeUnused(now time.Time) (unused []*Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for space, server := range s.server {
		busy := space == request.OwnSpace || server.uses > 0 || now.Sub(server.last) < s.idle
		for _, unfinished := range s.known[space] {
			busy = busy || unfinished
		}
		if !busy {
			delete(s.server, space)
			unused = append(unused, server)
		}
	}
	return unused
}

// Count returns how many spaces have a server, without the center's own.
func (s *Servers) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.server)
	if s.server[request.OwnSpace] != nil {
		n--
	}
	return n
}
