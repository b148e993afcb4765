// Package bolt is a file that survives kills, power cuts and a full disk: one bbolt database with
// durable copies of feeds (Sink), the Inventory of what was applied to the target, and small values
// (Meta).
//
//	f, err := bolt.Open("agent.db", bolt.Options{})
//	s, err := f.Sink("desired", bolt.SinkOptions{})
//	err = s.Commit(ctx, batch)    // entries and position are on disk when it returns
//	e, ok, err := s.Get(key)
//
// A Commit is one transaction: after a kill at any moment the file has all of it or nothing. Bodies
// are compressed; those of Secrets are sealed when Options.Keys is set, because bbolt keeps the
// bytes of freed pages. A value that cannot be read becomes an entry with an unknown body, so that
// its sender is asked; more damage is ErrCorrupt, and OpenOrRebuild saves what is whole. The
// package deletes nothing by itself: a tombstone stays until its consumer calls Forget.
//
// Layout: bucket meta {format, dictionary, sink/NAME, digest/NAME, user/NAME}, one bucket a copy
// with keys of [outer bucket, inner bucket, encoded Key], bucket inventory with JSON by encoded
// Key.
//
// Lock order: File.rotating, Sink.commit, File.swap, bbolt's own, Sink.mu. The locks of group,
// health and Keys are taken last, and no other inside them. OnHealth is called without the locks of
// the File; a Commit that calls it has Sink.commit.
package bolt
