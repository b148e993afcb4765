// Package inventory shows in each space, to be read, what tools of several clusters look for:
// ClusterProfiles and PlacementDecisions of multicluster.x-k8s.io/v1alpha1, as SIG Multicluster
// defines them (KEP-4322 and KEP-5313; the definitions in crds are those of
// sigs.k8s.io/cluster-inventory-api v0.1.2, unchanged, under the Apache License 2.0).
//
// Its nouns: a *profile* is the ClusterProfile of a SyncTarget, a *slice* a PlacementDecision with up
// to 100 targets of one Placement. The [Table] follows SyncTargets, Spaces and Placements, and the
// [Handler] answers get, list and watch from it. The life of a profile:
//
//  1. The Table is given a write of a SyncTarget. It makes a profile of it, once for all spaces.
//  2. A list of a space has the profiles of the targets that Space.spec.locationSelector selects, in
//     the namespace default. Root has those of all targets.
//  3. When a profile changes in a way that readers care for, the watches of those spaces are sent it.
//
// Nothing is stored: a profile goes with its SyncTarget and a slice with its decision, no site costs
// a write, and no space costs anything until it is asked. resourceVersions are those of the store. A
// watch begins after any revision since something was last taken away; else it is told to list again.
package inventory
