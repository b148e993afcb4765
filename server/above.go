package server

import "skerry.dev/skerry/store"

// Incarnation is that of this center's data.
func (s *Server) Incarnation() store.Incarnation { return s.store.Incarnation() }

// Above takes over which centers are above this one, its parent first: a relay hears it from its
// parent.
func (s *Server) Above(centers []store.Incarnation) { s.centers.Store(&centers) }

// above are the centers above this one, none where it is no relay.
func (s *Server) above() []store.Incarnation {
	if centers := s.centers.Load(); centers != nil {
		return *centers
	}
	return nil
}
