package door

import "skerry.dev/skerry/store"

// Confirm has a target's reports confirmed: Config.Confirmed is called once it has durably stored what its feed had at a revision, and its reports were
// compared after that. What is in its inbox then it has said knowing that revision. A target that has no session is asked when it comes back. It does not wait.
func (d *Door) Confirm(target string, revision int64) {
	d.mu.Lock()
	d.doubted[target] = max(d.doubted[target], revision)
	s := d.sessions[target]
	d.mu.Unlock()
	if s != nil {
		d.check(s)
	}
}

// check has the reports of a session compared when it is time to.
func (d *Door) check(s *session) {
	d.mu.Lock()
	revision := d.doubted[s.target]
	d.mu.Unlock()
	if revision > 0 && s.checks(revision) {
		s.again.Ask()
	}
}

// checks tells whether a session's reports are to be compared now, and notes that they are.
func (s *session) checks(revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checking > 0 || !s.has(s.acked, revision) {
		return false
	}
	s.checking = revision
	return true
}

// has tells whether a position of the session's feed is at a revision or behind it.
func (s *session) has(at store.Position, revision int64) bool {
	return s.feed != nil && at.Incarnation == s.feed.Head().Incarnation && at.Revision >= revision
}

// checked takes over that the reports of a session were compared.
func (d *Door) checked(s *session) {
	s.mu.Lock()
	revision := s.checking
	s.checking = 0
	s.mu.Unlock()
	d.mu.Lock()
	current := d.sessions[s.target] == s
	if current && d.doubted[s.target] <= revision {
		delete(d.doubted, s.target)
	}
	d.mu.Unlock()
	if !current {
		return
	}
	if d.cfg.Confirmed != nil {
		d.cfg.Confirmed(s.target, revision)
	}
	d.check(s) // somebody may have asked for more meanwhile
}
