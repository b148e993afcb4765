package storage

import (
	"strings"
	"sync"
)

// maxWaiting is how many bytes of stored values may wait for a watch. The store keeps as many for
// one of its watches.
const maxWaiting = 32 << 20

// subscription is the part of a client's watch in a storeWatch: its predicate, and the events that
// wait for it. Offering an event never blocks.
type subscription struct {
	key       string // with the prefix of all keys
	recursive bool   // key is a prefix
	wake      chan struct{}
	after     int64  // events up to this revision are not wanted
	leave     func() // set when it has been added

	mu      sync.Mutex
	waiting []*storeEvent
	bytes   int
	behind  bool // more waited than may
	ended   bool
	err     error
}

func newSubscription(key string, recursive bool, after int64) *subscription {
	if recursive && !strings.HasSuffix(key, "/") {
		key += "/"
	}
	return &subscription{key: key, recursive: recursive, after: after, wake: make(chan struct{}, 1)}
}

func (s *subscription) wants(e *storeEvent) bool {
	switch {
	case e.revision <= s.after:
		return false
	case e.key == "": // progress is everybody's
		return true
	case s.recursive:
		return strings.HasPrefix(e.key, s.key)
	}
	return e.key == s.key
}

func (s *subscription) offer(e *storeEvent) {
	if !s.wants(e) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.waiting = append(s.waiting, e)
	s.bytes += e.size
	if len(s.waiting) > maxQueue || s.bytes > maxWaiting {
		s.waiting, s.behind, s.ended = nil, true, true
	}
	s.ring()
}

func (s *subscription) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.err = true, err
		s.ring()
	}
}

func (s *subscription) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns the waiting events, and reports whether no more will come.
func (s *subscription) take() (events []*storeEvent, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, s.waiting, s.bytes = s.waiting, nil, 0
	return events, s.ended
}
