package registrykey

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/store"
)

// CRDs is the resource of CustomResourceDefinitions.
var CRDs = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// Spaces is the resource of Spaces.
var Spaces = schema.GroupResource{Group: ownGroup, Resource: "spaces"}

const (
	// CRDPrefix is the prefix of the keys of CustomResourceDefinitions.
	CRDPrefix = Prefix + "/apiextensions.k8s.io/customresourcedefinitions/"
	// SpacesPath is where Spaces are stored below Prefix. They are all in the space root.
	SpacesPath = "/" + ownGroup + "/spaces"
	// SpacePrefix is the prefix of the keys of Spaces; the name follows it.
	SpacePrefix = Prefix + SpacesPath + "/root/"

	ownGroup  = "skerry.dev"
	bindings  = "bindings"
	deletions = "deletions" // the resource of the records of deletions, which is not served
)

// SyncTarget returns the key of a SyncTarget. They are all in the space root.
func SyncTarget(name string) string { return Prefix + "/" + ownGroup + "/synctargets/root/" + name }

// Record returns the key of what is decided about where something is, see package scheduler. It does
// not count against the space's quota.
func Record(space, name string) string {
	return Prefix + "/" + ownGroup + "/" + bindings + "/" + space + "/" + name
}

// IsRecord reports whether a key is that of such a record.
func IsRecord(k store.Key) bool { return k.Group == ownGroup && k.Resource == bindings }

// Deletion returns the key of the record that the object with a UID is to be deleted. The record
// lies in the object's space, so that it goes with the space. It does not count against the space's
// quota.
func Deletion(space, uid string) string {
	return Prefix + "/" + ownGroup + "/" + deletions + "/" + space + "/" + uid
}

// IsDeletion reports whether a key is that of a record of a deletion.
func IsDeletion(k store.Key) bool { return k.Group == ownGroup && k.Resource == deletions }
