// Package schedule says when a backup is due, and which backups have had their day. It is pure: it
// reads no clock and deletes nothing.
//
//	s, err := schedule.Parse("30 2 * * *")      // or "6h", "@daily"
//	due := s.Due(lastBackup, now)
//	keep, err := schedule.ParseRetention("14")  // or "30d"
//	for _, i := range keep.Expired(times, now) { ... }
package schedule
