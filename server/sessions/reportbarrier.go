package sessions

import "skerry.dev/skerry/store"

// RequestBarrier has a target's reports confirmed: Config.BarrierReached is called once it has
// durably stored what its feed had at a revision, and its reports were compared after that. What is
// in its inbox then it has said knowing that revision. A target that has no session is asked when
// it comes back. It does not wait.
func (srv *Server) RequestBarrier(target string, revision int64) {
	srv.mu.Lock()
	srv.barriers[target] = max(srv.barriers[target], revision)
	s := srv.sessions[target]
	srv.mu.Unlock()
	if s != nil {
		srv.requestBarrier(s)
	}
}

// requestBarrier has the reports of a session compared when it is time to.
func (srv *Server) requestBarrier(s *session) {
	srv.mu.Lock()
	revision := srv.barriers[s.target]
	srv.mu.Unlock()
	if revision > 0 && s.awaitBarrier(revision) {
		s.again.Ask()
	}
}

// awaitBarrier reports whether a session's reports are to be compared now, and notes that they are.
func (s *session) awaitBarrier(revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checking > 0 || !s.hasBarrier(s.acked, revision) {
		return false
	}
	s.checking = revision
	return true
}

// hasBarrier reports whether a position of the session's feed is at a revision or behind it.
func (s *session) hasBarrier(at store.Position, revision int64) bool {
	return s.feed != nil && at.Incarnation == s.feed.Head().Incarnation && at.Revision >= revision
}

// barrierReached takes over that the reports of a session were compared.
func (srv *Server) barrierReached(s *session) {
	s.mu.Lock()
	revision := s.checking
	s.checking = 0
	s.mu.Unlock()
	srv.mu.Lock()
	current := srv.sessions[s.target] == s
	if current && srv.barriers[s.target] <= revision {
		delete(srv.barriers, s.target)
	}
	srv.mu.Unlock()
	if !current {
		return
	}
	srv.cfg.Delivery.Confirmed(s.target, revision)
	srv.requestBarrier(s) // somebody may have asked for more meanwhile
}
