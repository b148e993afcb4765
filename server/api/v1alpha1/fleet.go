package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
)

// The kinds by which tools of SIG Multicluster see the sites of a space, and where things are.
const (
	// FleetGroup is their API group, and FleetVersion the version that is served.
	FleetGroup   = "multicluster.x-k8s.io"
	FleetVersion = "v1alpha1"

	// ClusterProfiles are the sites, PlacementDecisions where things are.
	ClusterProfiles    = "clusterprofiles"
	PlacementDecisions = "placementdecisions"

	// ServiceExports and ServiceImports are those of SIG Multicluster's services API, in ServicesVersion. The spaces of
	// a set have their definitions.
	ServicesVersion = "v1beta1"
	ServiceExports  = "serviceexports"
	ServiceImports  = "serviceimports"
	// LabelImported stands on what serves a ServiceImport: its name.
	LabelImported = "multicluster.kubernetes.io/service-name"
)

// ServiceOfImport is the name of the Service that serves a ServiceImport.
func ServiceOfImport(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "derived-" + hex.EncodeToString(sum[:5])
}
