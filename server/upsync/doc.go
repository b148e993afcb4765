// Package upsync brings objects that are born at targets into the spaces whose Placements ask for
// them.
//
// Its nouns: a *wish* is a Placement with spec.upsync. Its *record* is the Upsync of its name, which
// delivery sends to the targets of the Placement. A *name* is the key under which targets report an
// object. Its *mirror* is the object in the space.
//
//	Placement --> Upsync --> targets
//	report of a target --> checked by the Upsync --> mirror
//	reports about the Upsync, and what is in the way of mirrors --> its status, condition Upsynced
//
// What a target reports is data. An object is taken only if an Upsync selects it that is at that
// target, with its namespace, and if it is of a kind, and of a type, that may come (tunnel/upsync).
// Marks of skerry.dev, owners and finalizers do not come.
//
// # Names
//
// An object that the space has itself is never changed. Where two targets report one name, the one
// whose object the space has keeps it; else the target that was decided for first. The other has the
// problem NameConflict.
//
// # What goes
//
// A mirror goes when its target does not report the object any more, or is no longer one of the
// Upsync's. While the stored reports of a target are not complete, what is missing says nothing.
// A mirror whose Upsync is gone goes with it.
//
// Everything here is made again from the store and the reports at each start. Lock order: the lock of
// Upsync is not held while anybody but the queue is called.
package upsync
