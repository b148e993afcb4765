// Package gc is the garbage collector of all spaces, by the rules of Kubernetes' own. An
// object whose owners are gone is deleted. An owner that is deleted in the foreground waits for the
// dependents that block it. One that is deleted with orphan leaves its dependents behind, without
// the reference to it.
//
// Its noun is the *node*: an object that owns or is owned, keyed by space and UID. A few workers
// serve all spaces. It learns from the center's one watch over all writes, and changes things only
// through the API.
//
// Mirrors, which show what a target reported, are not collected here: they go when the target says
// so.
package gc
