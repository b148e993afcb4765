package sessions

import "time"

// behind is a revision that a target has not reached, and since when it has not.
type behind struct {
	revision int64
	since    time.Time
}

// trackLag notes at a glance whether the target lacks something. While it does, the mark is the
// head of the feed when the target began to lack it, or passed the mark before: a target that is
// always a little behind has a short lag, one that is stuck a long one.
func (s *session) trackLag(is siteState, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case is.done:
		s.behind = behind{}
	case s.behind.since.IsZero() || is.acked >= s.behind.revision:
		s.behind = behind{s.head, now}
	}
}

// lag returns how long the target has lacked something; 0 while it lacks nothing. It begins with
// the glance that notices it.
func (s *session) lag(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.feed != nil && s.acked.Incarnation == s.feed.Head().Incarnation
	if s.behind.since.IsZero() || same && s.acked.Revision >= s.behind.revision {
		return 0
	}
	return max(0, now.Sub(s.behind.since))
}
