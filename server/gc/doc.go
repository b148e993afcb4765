// Package gc is the garbage collector of all spaces, by the rules of Kubernetes' own. An
// object whose owners are gone is deleted. An owner that is deleted in the foreground waits for the
// dependents that block it. One that is deleted with orphan leaves its dependents behind, without
// the reference to it.
//
// Its noun is the *node*: an object that owns or is owned, keyed by space and UID. A few workers
// serve all spaces. The life of a dependent:
//
//  1. Apply gets its write, as every write of all spaces. Its node is linked with those of its
//     owners.
//  2. An owner is deleted, or a write names an owner that nobody has seen. The dependent is
//     enqueued.
//  3. A worker reads it, and each owner that the graph does not know, from the API.
//  4. If an owner is there, references to others that are gone are removed. Else the dependent is
//     deleted, conditional on its UID and version, and its own dependents follow in the same way.
//
// A reference looks for its owner in the namespace of its object. That the owner is not there says nothing
// of other references to the same UID: a wrong one must not take what others own.
//
// Mirrors, which show what a target reported, are not collected here: they go when the target says
// so. One that has owners in the space, too, is: the target is asked to delete what it shows.
package gc
