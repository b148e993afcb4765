// Package desired takes what is written into the catalog, and keeps one feed per target: what that target
// shall have.
//
// A feed is a function of the catalog: it has an object at a hash wherever Catalog.Effective says that the
// object is, and a tombstone where it was before. One write is one step: all that it changes gets into the feeds
// under its revision. So a decision, which is one write of a record, takes effect at once for all its objects.
//
//	write --> step.take --> catalog changes --> step.settle --> changes per target --> feeds
//
// Bodies are rendered outside of the lock, and kept only for as long as they are being sent (bodies.go). What a
// target reports of an object that it was to be rid of before is doubted until it has confirmed (doubts.go).
package desired
