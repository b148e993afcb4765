// Package auditlog records what an agent has written to its target. Each write is one JSON line
// with verb, object, space and result, never the body.
//
//	log := auditlog.New("/var/lib/skerry/audit.log", auditlog.Options{})
//	clients.Written = log.Note  // never waits for the disk
//	err := log.Run(ctx)         // writes the file until ctx ends
//
// Lines are buffered in memory until there are enough, or until a few seconds have passed, because
// flash wears by the page. A crash or a full disk loses the buffered lines. The next line that fits
// counts the lost ones. The files are bounded: the log is rotated at a size, and few old files are
// kept.
//
// It is a record for people, no journal: nothing is restored from it.
package auditlog
