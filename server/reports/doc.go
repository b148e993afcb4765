// Package reports keeps the last reports of all targets, an inbox a target, in one file: what many of them say at a
// time shares the syncs of one write, and one that says nothing costs nothing but the state of its copy.
//
//	s := reports.New(reports.Config{Path: path, Reported: woken, Placed: delivery.Count, Log: log})
//	sink, err := s.Open(target)          // a session commits reports to it, and acknowledges them then
//	entry, ok, err := s.Report(target, key)
//
// It knows nothing of what is reported. Summary, progress, collect and upsync read it, and Progress is what decisions
// are made by. What is in it is soft: what is lost is sent again by the sites.
//
// What a target may report is bounded, so that one does not fill the disk and the memory of all others (limit.go).
package reports
