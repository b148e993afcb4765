package server

import (
	"path/filepath"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/reports"
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

// newReports returns what keeps reports. It is made before those that it calls, and does so when they run.
func (s *Server) newReports() *reports.Store {
	return reports.New(reports.Config{
		Path: filepath.Join(s.cfg.DataDir, "reports.db"), Reported: s.reported,
		Placed:  func(target string) int { return s.delivery.Count(target) },
		Crowded: func(target string) { s.sessions.Touch(target) },
		Log:     s.cfg.Log,
	})
}

// reported is called when reports of a target are durably stored.
func (s *Server) reported(target string, keys []store.Key) {
	s.summary.Reported(target, keys)
	s.collect.Reported(target, keys)
	s.upsync.Reported(target, keys)
	s.delivery.Reported(target, keys)
	s.sessions.Recount(target)
}

// placementChanged tells the parts that follow Placements, see delivery.Config.
func (s *Server) placementChanged(k store.Key, target string) {
	s.progress.Changed(k, target)
	if target == "" {
		s.collect.Changed(k)
	}
}
