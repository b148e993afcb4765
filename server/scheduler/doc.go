// Package scheduler keeps the records of package binding in the store of a center: what is written
// of them, how a write is made certain, and which numbers stand for targets.
//
//	revision, err := scheduler.Write(ctx, records, key, value, was) // compare and swap, sent until answered
//	stored, err := scheduler.Decode(object, targets)
//
// Each record is an object of the kind Binding (skerry.dev) in the space that it is about, so that
// people can read it. The record itself is in its binary form; what stands beside it is derived.
// Package delivery gives the facts, and asks binding what comes next.
package scheduler
