package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpsyncClause matches objects that are born at targets; every field that is set must match.
type UpsyncClause struct {
	// APIVersion in which the objects are read at the target and written in the space: v1, or
	// GROUP/VERSION.
	// +optional
	// +kubebuilder:default=v1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion,omitempty"`
	// Resources are lower-case plurals: configmaps, secrets, or those of custom resources.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	Resources []string `json:"resources"`
	// Namespaces of the space by name. Empty means all that the target has for the space.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
	// Names of the objects. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
	// LabelSelector over the labels of the objects. A clause for secrets needs this or names.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// Upsync is what the targets of a Placement bring into the space, and what they leave out. The center
// makes one of the name of each Placement with spec.upsync, and nobody else writes it. A relay has
// those of its parent.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=upsyncs,scope=Cluster,categories=skerry
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Objects",type=integer,JSONPath=`.status.objects`
// +kubebuilder:printcolumn:name="Left-out",type=integer,JSONPath=`.status.leftOut`
// +kubebuilder:printcolumn:name="Problem",type=string,JSONPath=`.status.problems[0].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Upsync struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   UpsyncSpec   `json:"spec"`
	Status UpsyncStatus `json:"status,omitempty"`
}

// UpsyncSpec is spec.upsync of the Placement.
type UpsyncSpec struct {
	// Objects is what comes: an object that any clause matches.
	// +kubebuilder:validation:MaxItems=16
	Objects []UpsyncClause `json:"objects"`
}

// UpsyncStatus is what comes, and what does not.
type UpsyncStatus struct {
	// Objects is how many objects the space has by it.
	Objects int32 `json:"objects"`
	// LeftOut is how many objects are selected and do not come.
	LeftOut int32 `json:"leftOut"`
	// Problems are why, the first 20 by target and object.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	Problems []UpsyncProblem `json:"problems,omitempty"`
	// ObservedGeneration is the generation that all targets have.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// UpsyncProblem is why an object does not come.
type UpsyncProblem struct {
	// Target is a SyncTarget; RELAY/TARGET is one below a relay.
	Target string `json:"target,omitempty"`
	// Object is RESOURCE/NAMESPACE/NAME, empty where all are meant.
	// +optional
	Object string `json:"object,omitempty"`
	// Reason is LimitReached, NotBrought, NameConflict, UpsyncNotAllowed, NotServed, RefusedBySpace or
	// QuotaExceeded.
	Reason string `json:"reason"`
	// Message says what to do about it.
	Message string `json:"message"`
}

// UpsyncList is a list of Upsyncs.
//
// +kubebuilder:object:root=true
type UpsyncList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Upsync `json:"items"`
}
