package sessions

import "skerry.dev/skerry/store"

// RequestBarrier has a target's reports confirmed: Config.BarrierReached is called once it has
// durably stored what its feed had at a revision, and its reports were compared after that. What is
// in its inbox then it has said knowing that revision. A target that has no session is asked when
// it comes back. It does not wait.
func (d *Server) RequestBarrier(target string, revision int64) {
	d.mu.Lock()
	d.barriers[target] = max(d.barriers[target], revision)
	s := d.sessions[target]
	d.mu.Unlock()
	if s != nil {
		d.requestBarrier(s)
	}
}

// requestBarrier has the reports of a session compared when it is time to.
func (d *Server) requestBarrier(s *session) {
	d.mu.Lock()
	revision := d.barriers[s.target]
	d.mu.Unlock()
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
func (d *Server) barrierReached(s *session) {
	s.mu.Lock()
	revision := s.checking
	s.checking = 0
	s.mu.Unlock()
	d.mu.Lock()
	current := d.sessions[s.target] == s
	if current && d.barriers[s.target] <= revision {
		delete(d.barriers, s.target)
	}
	d.mu.Unlock()
	if !current {
		return
	}
	d.cfg.Delivery.Confirmed(s.target, revision)
	d.requestBarrier(s) // somebody may have asked for more meanwhile
}
