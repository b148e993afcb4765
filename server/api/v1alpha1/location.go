package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Location is a named group of SyncTargets: a site, a region, a failure domain. The label
// skerry.dev/target may name it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.available`
// +kubebuilder:printcolumn:name="Stale",type=integer,JSONPath=`.status.stale`
// +kubebuilder:printcolumn:name="CPU",type=string,priority=1,JSONPath=`.status.allocatable.cpu`
// +kubebuilder:printcolumn:name="Memory",type=string,priority=1,JSONPath=`.status.allocatable.memory`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'none'",message="the label skerry.dev/target=none is the wish to be nowhere, so no Location may have that name; choose another one"
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
	// Targets is how many there are, and Available how many of them are connected and take
	// something new.
	Targets   int32 `json:"targets"`
	Available int32 `json:"available"`
	// Stale is how many have no session: what they say of themselves is old.
	Stale int32 `json:"stale"`
	// Capacity, Allocatable and Allocated are the sums of the targets, Stale ones with what they last
	// said.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`
	// AsOf is when a Stale target was last heard of, of all of them the longest ago. It is absent
	// while all are connected.
	// +optional
	AsOf *metav1.Time `json:"asOf,omitempty"`
}

// LocationList is a list of Locations.
//
// +kubebuilder:object:root=true
type LocationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Location `json:"items"`
}
