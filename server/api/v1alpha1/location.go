package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Location is a named group of SyncTargets: a site, a region, a failure domain. The label
// skerry.dev/target may name it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.available`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Location struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   LocationSpec   `json:"spec"`
	Status LocationStatus `json:"status,omitempty"`
}

// LocationSpec says which targets belong to the location.
type LocationSpec struct {
	// Selector over the labels of SyncTargets.
	Selector metav1.LabelSelector `json:"selector"`
}

// LocationStatus counts the location's targets.
type LocationStatus struct {
	Targets   int32 `json:"targets"`
	Available int32 `json:"available"`
}

// LocationList is a list of Locations.
//
// +kubebuilder:object:root=true
type LocationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Location `json:"items"`
}
