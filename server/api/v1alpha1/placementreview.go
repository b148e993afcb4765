package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PlacementReview asks where an object is, or would be, and why. It can be created only, and is not
// stored: the answer is its status. It is answered by the code that decides.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type PlacementReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PlacementReviewSpec `json:"spec"`
	// +optional
	Status PlacementReviewStatus `json:"status,omitempty"`
}

// PlacementReviewSpec is the question.
//
// +kubebuilder:validation:XValidation:rule="has(self.object) != has(self.placement)",message="exactly one of object and placement is needed"
type PlacementReviewSpec struct {
	// Object of this space. Who asks must be allowed to get it.
	// +optional
	Object *ReviewedObject `json:"object,omitempty"`
	// Placement of this space by name. Who asks must be allowed to get it.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Placement string `json:"placement,omitempty"`
	// Without are SyncTargets that are taken to be gone: the answer is what would happen then.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Without []string `json:"without,omitempty"`
}

// ReviewedObject names an object of a space.
type ReviewedObject struct {
	// APIGroup is empty for the core group.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`
	// Resource is the lower-case plural, such as deployments.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource"`
	// Namespace is empty for a cluster-scoped object.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// PlacementReviewStatus is the answer.
type PlacementReviewStatus struct {
	// DecidedBy is what decides about the object.
	DecidedBy ReviewedPolicy `json:"decidedBy"`
	// Decision are the SyncTargets of the recorded decision; the one where the objects are longest
	// comes first.
	// +optional
	Decision []string `json:"decision,omitempty"`
	// Wanted are the SyncTargets that the policy chooses now, without those of spec.without. When
	// nothing is chosen, what runs stays.
	// +optional
	Wanted []string `json:"wanted,omitempty"`
	// Since is when the move that is under way began, or else when the last one ended or the condition
	// Scheduled last changed.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Reason is why the wish is not fulfilled, in one CamelCase word, empty when it is. Message says
	// what to do about that.
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// WaitsFor is what the move that is under way waits for. Who may not get the Placement, or else the
	// Namespace, that moves is not told which other objects these are.
	// +optional
	WaitsFor string `json:"waitsFor,omitempty"`
	// Targets are the verdicts on the SyncTargets that the space may use: those in use first, then
	// the chosen, then the others by name; at most 1,000.
	// +optional
	Targets []ReviewedTarget `json:"targets,omitempty"`
	// Cut is how many more targets there are.
	// +optional
	Cut int32 `json:"cut,omitempty"`
	// AlsoOpen are the SyncTargets that the object has left and where it stays a way in for callers from outside for a
	// while, as its annotation skerry.dev/open-until says.
	// +optional
	AlsoOpen []ReviewedDoor `json:"alsoOpen,omitempty"`
	// GoesAlong are the objects that are also wherever the object of spec.object is, such as its
	// ConfigMaps, its Service, and the Ingress of that: at most 1,000 of those that who asks may get.
	// It is empty for a Placement.
	// +optional
	GoesAlong []ReviewedCompanion `json:"goesAlong,omitempty"`
	// StaysBehind are the objects that the object names, or that select or name it, and that do not go
	// along with it: at most 1,000 of those that who asks may get. It is empty for a Placement.
	// +optional
	StaysBehind []ReviewedCompanion `json:"staysBehind,omitempty"`
}

// ReviewedDoor is a SyncTarget where callers from outside still get in.
type ReviewedDoor struct {
	Target string      `json:"target"`
	Until  metav1.Time `json:"until"`
}

// ReviewedCompanion is an object that another one names, or that selects or names another one.
type ReviewedCompanion struct {
	Object ReviewedObject `json:"object"`
	// Because says what ties the object to the other, and of one that stays what keeps it.
	Because string `json:"because"`
}

// ReviewedPolicy is what decides about an object.
type ReviewedPolicy struct {
	// Kind is ObjectLabel and NamespaceLabel for the label skerry.dev/target on the object or its
	// Namespace, Placement, DefaultTargets for spec.defaultTargets of the Space, or None when
	// nothing says where to.
	Kind string `json:"kind"`
	// Name of the Placement, or what the label says.
	// +optional
	Name string `json:"name,omitempty"`
	// Priority of the Placement.
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// Over are Placements that select the object, too, and do not decide about it.
	// +optional
	Over []string `json:"over,omitempty"`
}

// ReviewedTarget is the verdict on one SyncTarget.
type ReviewedTarget struct {
	Name string `json:"name"`
	// InUse is true when the recorded decision names the target, or the object is still there.
	InUse bool `json:"inUse"`
	// Chosen is true when the policy chooses the target now.
	Chosen bool `json:"chosen"`
	// Filter speaks against the target; empty when nothing does. What is in use can be chosen all
	// the same: such a filter keeps new objects away and does not make those leave that are there.
	// +optional
	Filter string `json:"filter,omitempty"`
	// Message says what the filter found.
	// +optional
	Message string `json:"message,omitempty"`
	// Score is the sum of the preferences, in thousandths of their weights.
	// +optional
	Score int64 `json:"score,omitempty"`
	// Replicas is how many replicas of the object the target is given, where they are divided.
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
	// Portion is what the target is given of the fields of an autoscaler or a disruption budget that are
	// divided: minReplicas and maxReplicas, minAvailable or maxUnavailable.
	// +optional
	Portion map[string]int64 `json:"portion,omitempty"`
	// Release is the release of the Placement from which the target gets the object, where that is
	// another than what the object says now.
	// +optional
	Release int64 `json:"release,omitempty"`
	// WaitsFor is what the target has not reported yet, or what it refuses.
	// +optional
	WaitsFor string `json:"waitsFor,omitempty"`
}
