// Package offers shows in each space, read-only, what the targets that the space may use offer:
// a Node for each target, and the classes that objects may name.
//
// Its nouns are the [Table], which follows SyncTargets and Spaces, and the storages that read it,
// [Nodes] and [Classes]. The life of a Node:
//
//  1. The table is given a write of a SyncTarget. It makes a Node of it, once for all spaces.
//  2. A list of a space has the Nodes of the targets that Space.spec.locationSelector selects. Root
//     has those of all targets.
//  3. When a Node changes in a way that readers care for, the watches of those spaces are sent it.
//
// Nothing is stored, and nothing is kept for a space but its selector, where it has one.
// resourceVersions are those of the store, because the table is given the writes of all spaces in
// the order of revisions. A watch may begin at a revision that the table remembers; for others, and
// when the targets of its space change, it is told to list again.
//
// A class shows in a space when a target offers it, unless the space has a class of that name itself.
package offers
