package v1alpha1

// The kinds by which tools of SIG Multicluster see the sites of a space, and where things are.
const (
	// FleetGroup is their API group, and FleetVersion the version that is served.
	FleetGroup   = "multicluster.x-k8s.io"
	FleetVersion = "v1alpha1"

	// ClusterProfiles are the sites, PlacementDecisions where things are.
	ClusterProfiles    = "clusterprofiles"
	PlacementDecisions = "placementdecisions"
)
