// Package placement decides where objects go. It is pure: plain values in, a decision out; no
// clock, no client, no lock. Equal input gives equal output.
//
//	ClassOf, Excluded   does this kind travel, and does this object?
//	Resolve             which Placement decides about an object (priority, then age)
//	Choose              which targets a wish names
//	Next                how a decision changes without an outage: A, (A, B), B
//	Judge               what a report says of an object's progress
//	References          what a pod template needs beside it
//
// Next never removes a target before what replaces it is complete there, unless the wish says so:
//
//	next := placement.Next(state)   // state: what is recorded, wished, reported; and the time
//
// A decision is recorded by package delivery, not here.
package placement
