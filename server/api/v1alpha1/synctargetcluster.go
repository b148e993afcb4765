package v1alpha1

// SyncTargetCluster is what a target says of its cluster, of all its nodes together.
type SyncTargetCluster struct {
	// Nodes is how many nodes the cluster has, and Ready how many of them are ready. Of a relay
	// these are its own targets.
	Nodes int32 `json:"nodes"`
	Ready int32 `json:"ready"`
	// OperatingSystem and Architecture of all nodes, absent where they differ.
	// +optional
	OperatingSystem string `json:"operatingSystem,omitempty"`
	// +optional
	Architecture string `json:"architecture,omitempty"`
	// Classes are those that objects may name, at most 100.
	// +optional
	Classes []SyncTargetClass `json:"classes,omitempty"`
}

// SyncTargetClass is a class of a target's cluster.
type SyncTargetClass struct {
	// Kind is StorageClass, IngressClass, RuntimeClass or PriorityClass.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Default is true where the cluster takes it for what names none.
	// +optional
	Default bool `json:"default,omitempty"`
	// Provider is the provisioner, the controller or the handler.
	// +optional
	Provider string `json:"provider,omitempty"`
	// ReclaimPolicy, VolumeBindingMode and AllowVolumeExpansion of a StorageClass.
	// +optional
	ReclaimPolicy string `json:"reclaimPolicy,omitempty"`
	// +optional
	VolumeBindingMode string `json:"volumeBindingMode,omitempty"`
	// +optional
	AllowVolumeExpansion bool `json:"allowVolumeExpansion,omitempty"`
	// Value and PreemptionPolicy of a PriorityClass.
	// +optional
	Value int32 `json:"value,omitempty"`
	// +optional
	PreemptionPolicy string `json:"preemptionPolicy,omitempty"`
}
