package sessions

import (
	"maps"
	"slices"
	"time"
)

const (
	// heartbeat is how often lastSeen of a connected target is written when nothing else changes.
	// When its session ends it is written in any case: the heartbeats are what is known after the
	// center itself was lost.
	heartbeat = time.Minute
	// beatShare is how many times as long as such a write took there is no other, so that those of
	// thousands of targets, which come ever more seldom, take half a percent of a core; slowest is
	// the most that it is.
	beatShare = 200
	slowest   = 10 * time.Second
)

// heartbeats says when the next heartbeat may be written, and whose it is. It belongs to the
// goroutine that keeps statuses.
type heartbeats struct {
	next  time.Time
	round []string // targets, the one whose status was written longest ago first
}

// runHeartbeats asks for the next heartbeat if it is time for one, at most one in a glance.
func (srv *Server) runHeartbeats(now time.Time) {
	b := &srv.heartbeats
	if now.Before(b.next) {
		return
	}
	if len(b.round) == 0 {
		for _, s := range slices.SortedFunc(maps.Values(srv.current()), older) {
			b.round = append(b.round, s.target)
		}
	}
	for len(b.round) > 0 {
		name := b.round[0]
		b.round = b.round[1:]
		if s := srv.session(name); s != nil && s.silent(now) {
			srv.targets.touch(name)
			return
		}
	}
}

// silent reports whether it is time for a heartbeat of a session.
func (s *session) silent(now time.Time) bool { return now.Sub(s.written) >= heartbeat }

// written notes how long writing a status took.
func (b *heartbeats) written(now time.Time, took time.Duration) {
	b.next = now.Add(min(beatShare*took, slowest))
}
