// Package v1alpha1 holds the kinds of the group skerry.dev: Space, Location, SyncTarget and
// Placement. The Go types are the source; deepcopy functions and the CustomResourceDefinitions are
// generated from them by `make generate`. Only packages below server/ and the command line import
// it.
//
// +kubebuilder:object:generate=true
// +groupName=skerry.dev
package v1alpha1
