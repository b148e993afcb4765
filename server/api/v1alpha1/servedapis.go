package v1alpha1

// ServedAPIs is what a target's cluster serves, as far as it says.
type ServedAPIs struct {
	// Versions are the groups and versions that are served, such as apps/v1, or v1.
	// +optional
	Versions []string `json:"versions,omitempty"`
	// Resources are those that Kubernetes itself does not bring, each group/version/resource, at
	// most 512. Those that Kubernetes brings follow from Versions.
	// +optional
	Resources []string `json:"resources,omitempty"`
	// Incomplete is true when there are more than fit: what is not named may be served.
	// +optional
	Incomplete bool `json:"incomplete,omitempty"`
}
