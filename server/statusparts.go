package server

import (
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// statusParts are the parts that make what people read of what targets report, as sessions knows
// them.
type statusParts struct{ s *Server }

// Tally implements sessions.Summary.
func (p statusParts) Tally(target string, first int) placement.Tally {
	return p.s.summary.Tally(target, first)
}

// Outage implements sessions.Summary.
func (p statusParts) Outage(target string) {
	p.s.summary.Outage(target)
	p.s.progress.Outage(target)
	p.s.collect.Outage(target)
}

// Event implements sessions.Summary.
func (p statusParts) Event(e placement.Event) { p.s.summary.Event(e) }

// placementChanged tells the parts that follow Placements, see delivery.Config.
func (s *Server) placementChanged(k store.Key, target string) {
	s.progress.Changed(k, target)
	if target == "" {
		s.collect.Changed(k)
	}
}
