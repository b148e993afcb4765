package server

import (
	"time"

	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// stale says to who reads an object why what is shown of it is old; it is empty where it is not. At
// a replica that stands by nobody knows.
func (s *Server) stale(k store.Key) string {
	targets := []string(nil)
	if at, ok := s.delivery.Located(k); ok {
		targets = at.Targets
	} else if target, ok := s.summary.MirrorOf(k); ok {
		targets = []string{target}
	}
	if of := placement.OutagesOf(targets, s.sessions.Outage); !of.None() {
		return of.Message()
	}
	return ""
}

// elsewhere says to who lists Pods of a namespace, or of a whole space where that is empty, which are
// not among them because they run at too many targets; it is empty where there are none.
func (s *Server) elsewhere(space, namespace string) string {
	return placement.Elsewhere(space, desired.Unmirrored(s.delivery.State, space, namespace))
}

// unreachable returns since when the first of some targets has not been heard of, the zero time
// when all are.
func (s *Server) unreachable(targets []string) time.Time {
	return placement.OutagesOf(targets, s.sessions.Outage).Since()
}
