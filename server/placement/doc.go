// Package placement decides where objects go. It is pure: plain values in, a decision out; no
// clock, no client, no lock. Equal input gives equal output.
//
//	ClassOf, Excluded   does this kind travel, and does this object?
//	Resolve             which Placement decides about an object (priority, then age)
//	Choose              which targets are chosen: filter (filter.go), score, choose (spread.go)
//	Explain             Choose, with the verdict on every target
//	Affects             can a change of one target change a decision?
//	Validate            what of a Placement's targets can never be
//	Vacate              Choose, for what may have to leave some targets
//	Judge               what a report says of an object's progress
//	References          what a pod template needs beside it
//
// How a decision changes without an outage is package binding; package delivery records it.
package placement
