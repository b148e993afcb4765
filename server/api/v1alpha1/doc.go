// Package v1alpha1 has the kinds of the group skerry.dev:
//
//   - Space: a logical cluster of the center, with its quota and default targets. In root.
//   - SyncTarget: a workload cluster, or a relay, that is attached to the center. In root.
//   - Location: a named group of SyncTargets, by their labels. In root.
//   - Placement: which objects of a space go to which targets, and how they move. In any space.
//
// names.go has the names of all conditions, annotations and labels, and who writes them.
//
// The Go types are the source. `make generate` makes deepcopy functions and the
// CustomResourceDefinitions (crds) from them. A rule between fields is a CEL rule in a marker, with
// a message that says what to write instead.
//
// +kubebuilder:object:generate=true
// +groupName=skerry.dev
package v1alpha1
