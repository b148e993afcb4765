package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Binding says where something is decided to be: what a Placement selects, what is in a Namespace, or
// one object. The center writes it, and nobody else. Bindings whose names begin with "cohort-" are of
// objects that pass from one of these to another. Those that begin with "rollout-" say which release of a
// Placement each of its targets has, and those that begin with "release-" are the releases.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry
// +kubebuilder:printcolumn:name="Of",type=string,JSONPath=`.spec.unit.resource`
// +kubebuilder:printcolumn:name="In",type=string,JSONPath=`.spec.unit.namespace`
// +kubebuilder:printcolumn:name="Unit",type=string,JSONPath=`.spec.unit.name`
// +kubebuilder:printcolumn:name="Targets",type=string,JSONPath=`.spec.where`
// +kubebuilder:printcolumn:name="States",type=string,JSONPath=`.spec.states`
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BindingSpec `json:"spec"`
}

// BindingSpec is the decision. What stands beside record is derived from it.
type BindingSpec struct {
	// unit is what the decision is about; of a cohort, what its objects pass to.
	// +optional
	Unit BindingUnit `json:"unit,omitzero"`
	// targets are those that the decision names, the longest there first.
	// +optional
	Targets []BindingTarget `json:"targets,omitempty"`
	// where are the names of the first targets in the order of targets, and how many more there are: "a, b
	// and 3 more".
	// +optional
	Where string `json:"where,omitempty"`
	// states are the states of the targets, each once with how many have it: "Placed", or "4 Placed, 1
	// Joining".
	// +optional
	States string `json:"states,omitempty"`
	// objects is how many objects a cohort or a release has.
	// +optional
	Objects int32 `json:"objects,omitempty"`
	// arrived: the objects of a cohort are where its unit is.
	// +optional
	Arrived bool `json:"arrived,omitempty"`
	// ended: the objects of a cohort have run to their end, and stay.
	// +optional
	Ended bool `json:"ended,omitempty"`
	// record is the decision in the center's own form.
	Record []byte `json:"record"`
}

// BindingUnit names the object that a decision is about.
type BindingUnit struct {
	// group of the object, empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// resource of the object, such as namespaces, placements or deployments.
	// +optional
	Resource string `json:"resource,omitempty"`
	// namespace of the object, empty for one that is in none.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +optional
	Name string `json:"name,omitempty"`
}

// BindingState says in a word what a target is to a decision.
// +kubebuilder:validation:Enum="";Placed;Joining;Leaving;Left;GaveUp
type BindingState string

// The states.
const (
	// BindingPlaced: the objects are to be there.
	BindingPlaced BindingState = "Placed"
	// BindingJoining: they are to be there, and instead is left when they are ready.
	BindingJoining BindingState = "Joining"
	// BindingLeaving: they are to be there until another target is ready.
	BindingLeaving BindingState = "Leaving"
	// BindingLeft: they are not to be there any more, and the target has not confirmed that yet.
	BindingLeft BindingState = "Left"
	// BindingGaveUp: they were not ready there in time.
	BindingGaveUp BindingState = "GaveUp"
)

// BindingTarget is a target that a decision names.
type BindingTarget struct {
	// name of the SyncTarget.
	Name string `json:"name"`
	// uid of the SyncTarget: one that is made anew under the name is another one.
	UID string `json:"uid"`
	// state says what the target is to the decision; empty for one that is only named by another.
	// +optional
	State BindingState `json:"state,omitempty"`
	// instead is the target that this one comes for.
	// +optional
	Instead string `json:"instead,omitempty"`
	// sole: what must exist once is here.
	// +optional
	Sole bool `json:"sole,omitempty"`
	// since is when what is waited for began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// BindingList lists Bindings.
// +kubebuilder:object:root=true
type BindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Binding `json:"items"`
}
