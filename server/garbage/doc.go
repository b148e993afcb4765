// Package garbage is the garbage collector of all spaces: objects whose owners are gone are deleted, an owner that is deleted in the
// foreground waits for what blocks it, one that is deleted with orphan leaves its dependents behind without its reference. The rules are those
// of Kubernetes' own collector; that one costs 2.5 MB and hundreds of goroutines for each cluster, this one a graph node for each object
// that owns or is owned, keyed by space and UID, and a few workers for all spaces.
//
// It learns from the center's one watch over all writes and changes things only through the API. Objects that merely show what a target
// reported are not its business: they go when the target says so. Only server.go imports it.
package garbage
