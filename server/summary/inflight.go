package summary

import "skerry.dev/skerry/store"

// inFlightWrites is that an object is being written. Its deletion may be told before the answer to
// the write comes: what the answer says is history then, and remembering it would be for ever.
type inFlightWrites struct {
	writers int
	gone    bool
}

// begin notes that an object is being written, until end is called.
func (s *Summary) begin(k store.Key) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.writing[k]
	if u == nil {
		u = &inFlightWrites{}
		s.writing[k] = u
	}
	u.writers++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if u.writers--; u.writers == 0 {
			delete(s.writing, k)
		}
	}
}

// overtakenLocked reports whether an object was deleted since its writing began. When it was made
// anew since, that will be told.
func (s *Summary) overtakenLocked(k store.Key) bool {
	u := s.writing[k]
	return u != nil && u.gone
}

// overtakeLocked notes that an object is gone.
func (s *Summary) overtakeLocked(k store.Key) {
	if u := s.writing[k]; u != nil {
		u.gone = true
	}
}
