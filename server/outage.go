package server

import (
	"time"

	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/summary"
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
	if of := placement.OutagesOf(targets, s.outages.Outage); !of.None() {
		return of.Message()
	}
	return ""
}

// elsewhere says to who lists Pods of a namespace, or of a whole space where that is empty, which are
// not among them because they run at too many targets; it is empty where there are none.
func (s *Server) elsewhere(space, namespace string) string {
	return placement.Elsewhere(space, desired.Unmirrored(s.delivery.State, space, namespace))
}

// departed says to who reads a Pod that the space does not have where it has gone, or where those of
// its namespace are that the space does not show; it is empty where nothing is known of it.
func (s *Server) departed(pod store.Key) string {
	if was, known := summary.DepartedPod(s.summary, pod); known {
		at, placed := s.delivery.Located(was.Owner)
		if len(at.Targets) > placement.MostMirrored {
			return placement.Elsewhere(pod.Space, []placement.Located{at})
		}
		return was.Message(at, placed)
	}
	return s.elsewhere(pod.Space, pod.Namespace)
}

// unreachable returns since when the first of some targets has not been heard of, the zero time
// when all are.
func (s *Server) unreachable(targets []string) time.Time {
	return placement.OutagesOf(targets, s.outages.Outage).Since()
}
