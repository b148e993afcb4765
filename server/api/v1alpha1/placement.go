package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Placement says which objects of a space go to which targets.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry,shortName=pl
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Targets",type=string,JSONPath=`.status.decision`
// +kubebuilder:printcolumn:name="Scheduled",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.status.conditions[?(@.type=="Synced")].status`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PlacementSpec   `json:"spec"`
	Status PlacementStatus `json:"status,omitempty"`
}

// PlacementSpec is the rule.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.move) && has(self.move.type) && self.move.type == 'BreakBeforeMake' && has(self.sync) && has(self.sync.whenPlacementDeleted) && self.sync.whenPlacementDeleted == 'Orphan')",message="move.type BreakBeforeMake needs sync.whenPlacementDeleted Clean: with Orphan the old copy would go on running beside the new one"
type PlacementSpec struct {
	// Priority decides when several Placements select one object: the higher wins; of equals the
	// older wins and the other has the condition Conflict.
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// Objects selects what is placed: an object is selected when any clause matches.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Objects []ObjectClause `json:"objects"`
	// Targets selects where to.
	Targets TargetClause `json:"targets"`
	// Sync says how the objects meet what a target already has.
	// +optional
	Sync SyncPolicy `json:"sync,omitzero"`
	// Move says how the objects change their place.
	// +optional
	Move MovePolicy `json:"move,omitzero"`
	// Suspend holds the decision as it is: nothing moves, comes or goes on its behalf, and a move
	// that has begun waits where it is. The objects themselves are still kept up to date on the
	// targets of the decision.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ObjectClause matches objects; every field that is set must match.
type ObjectClause struct {
	// APIGroup of the objects: "" is the core group, null any group.
	// +optional
	APIGroup *string `json:"apiGroup,omitempty"`
	// Resources are lower-case plurals ("deployments"). Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Resources []string `json:"resources,omitempty"`
	// Namespaces by name. Empty means all, and cluster-scoped objects too when NamespaceSelector is
	// null as well.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector over the labels of the object's namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Names of the objects. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Names []string `json:"names,omitempty"`
	// LabelSelector over the object's own labels.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// TargetClause selects targets: those that Names lists and those that any selector matches.
//
// +kubebuilder:validation:XValidation:rule="has(self.selectors) || has(self.names)",message="one of selectors and names is needed; to select every target write selectors: [{}]"
type TargetClause struct {
	// Selectors over the labels of SyncTargets; any may match. An empty selector matches all.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Selectors []metav1.LabelSelector `json:"selectors,omitempty"`
	// Names of SyncTargets or Locations.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Names []string `json:"names,omitempty"`
	// Count limits how many are chosen; null means all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count *int32 `json:"count,omitempty"`
}

// PlacementStatus is the decision and how far it is carried out.
type PlacementStatus struct {
	// Decision lists the SyncTargets that the selected objects are on. It is written as a whole: a
	// change of place is one write.
	// +optional
	Decision []string `json:"decision,omitempty"`
	// Move is the move that is being made, or that was given up.
	// +optional
	Move *MoveRecord `json:"move,omitempty"`
	// Targets counts how far the decision is carried out.
	Targets TargetCounts `json:"targets,omitempty"`
	// ObservedGeneration is the generation of the spec that the decision was made for.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Scheduled, Synced, Available, Moving, Conflict.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TargetCounts counts targets of a Placement by how far they are.
type TargetCounts struct {
	Selected  int32 `json:"selected"`
	Synced    int32 `json:"synced"`
	Available int32 `json:"available"`
	Failed    int32 `json:"failed"`
}

// PlacementList is a list of Placements.
//
// +kubebuilder:object:root=true
type PlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Placement `json:"items"`
}
