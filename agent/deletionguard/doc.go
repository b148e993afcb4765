// Package deletionguard protects a site from mass deletion by mistake. It stands between the
// session and the durable copy of the desired state. When too many deletions come at once it
// withholds them until an admin confirms them. Everything else passes.
//
// Its nouns are the [Guard], which is a store.Sink around the [Copy], and the withheld deletions,
// tunnel.Withheld.
//
//	guard, err := deletionguard.Open(cfg)  // restores what was withheld before a restart
//	guard.Bind(applier)                    // who carries out what is released
//	err = guard.Commit(ctx, b)             // stores the batch; decides whether its deletions wait
//	guard.Holds(tombstone)                 // reports whether apply must wait with this one
//	err = guard.Confirm(upTo)              // an admin has seen the deletions up to this revision
//
// The life of a deletion:
//
//  1. Only a tombstone that takes something away counts. It does not count when the object goes on
//     on another target, or is left on this one. It does not count when a user deleted the object
//     by its name, with a Namespace or a definition that he named, or with the last workload that
//     needed it (server/delivery/intent.go).
//  2. Deletions within [Window] (10 s), or of one revision, count together. They are too many if
//     they are more than Share percent of the objects (30), and at least [Least] (10).
//  3. Too many are withheld, and so are all further ones, until an admin has confirmed what was
//     shown. The guard makes durable that they are withheld before it stores them. An Event of the
//     Namespace tells the space.
//  4. Confirm releases them: [Queue] gets their keys. [Guard.Allow] lets the
//     deletions of one comparison pass, after an admin has accepted the center.
//
// A relay tells its own center which deletions are intended or confirmed, so that the relay's own
// targets do not ask again.
//
// The guard decides from tombstones alone. It does no I/O but on the copy and its own few bytes of
// state.
//
// Lock order: Guard.commit, then Guard.mu.
package deletionguard
