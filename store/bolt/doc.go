// Package bolt is what an agent, or a center for one target's reports, remembers across restarts:
// one bbolt file. It holds durable copies of feeds (Sink), the Inventory of what was applied to the
// target, and a few small values (Meta).
//
// Guarantees: a Commit is one transaction, synced to disk before it returns; a kill at any moment
// leaves the state of before or of after it. Bodies are compressed, those of Secrets encrypted when
// a key is given, because bbolt keeps the bytes of freed pages. A file of a newer format is
// refused. The package deletes nothing by itself: tombstones stay until the consumer forgets them.
//
// Layout: bucket meta {format, dictionary, sink/NAME, digest/NAME, user/NAME}, one bucket per sink
// with keys of [outer bucket, inner bucket, encoded Key], bucket inventory. Imported by agent and
// server.
package bolt
