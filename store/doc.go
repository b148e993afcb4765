// Package store has the nouns that all tiers share, without I/O: what a sender publishes, what a
// receiver keeps, and how the two compare.
//
// A sender publishes a Feed: the last value of each Key, as hash and revision, and a tombstone for
// a key that was removed. A receiver keeps a copy of it, a Sink. The life of one change:
//
//  1. The sender calls Feed.Apply with a revision and the changes of that revision.
//  2. Feed.Read lists the entries behind a Cursor, oldest first, and the Position behind them.
//  3. The receiver stores entries and position as one Batch with Sink.Commit.
//  4. A receiver that comes back says its Position and is sent what changed since. If the sender
//     does not know the position, both compare Digests, and the keys that differ are sent.
//
// store/bolt is a durable Sink in a file, store/storetest the suite that every Sink passes.
//
// Feed.mu and Notifier.mu never nest: a Feed notifies when it has released its lock. Its BodyFunc is
// called without the lock, too.
package store
