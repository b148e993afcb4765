// Package catalog knows what is stored in all spaces and what targets there are, and decides nothing.
//
// Its nouns: an *object* is one that is placed, or that a placed one names. A *group* is everything that one
// wish decides about: a Placement, the label of an object or of a Namespace, the defaultTargets of a space. A
// *unit* is a group with its Binding, a *cohort* is objects that pass from one unit to another; both are
// records (package binding). A *set* is an interned list of targets. The catalog has key, hash and stamp of
// every object, never its body.
//
// It answers three questions. Whose wish is an object for? (SourceOf) Where do the records say that it is?
// (Effective) Who has to be looked at again after a change? (the queues of Catalog, and the Wake methods) It
// makes no decision, sends nothing and asks nobody: package desired puts into it what is written, package
// delivery decides by it.
//
// A lock guards all of it. Who changes or reads it takes the lock, asks for all that belongs together, and lets
// go of it before any I/O. What others are to be told of a change is queued by After, and told once the lock is
// released. [Outages] and [Leases] are apart, each with a lock of its own: sessions judges and grants them, and
// who shows reports, or decides about a target that is away, asks for them.
package catalog
