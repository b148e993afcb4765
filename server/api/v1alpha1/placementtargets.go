package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Spread shares the chosen targets out over the values of a label, as topologySpreadConstraints of
// a Pod do over nodes. A target without the label is not chosen.
//
// +kubebuilder:validation:XValidation:rule="has(self.minGroups) || has(self.maxSkew)",message="one of minGroups and maxSkew is needed"
type Spread struct {
	// By is the key of a label of SyncTargets. Targets with one value of it are a group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	By string `json:"by"`
	// MinGroups is in how many groups there must be a chosen target. With fewer, what can be chosen
	// is chosen, and the condition Scheduled is False with the reason TooFewGroups.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinGroups *int32 `json:"minGroups,omitempty"`
	// MaxSkew is how many chosen targets one group may have more than another. While there are fewer
	// than minGroups groups, it is how many a group may have.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxSkew *int32 `json:"maxSkew,omitempty"`
}

// PlacementAffinity names other Placements of the space, and what is near to their targets.
//
// +kubebuilder:validation:XValidation:rule="has(self.placements) != has(self.selector)",message="exactly one of placements and selector is needed"
type PlacementAffinity struct {
	// Placements of the same space by name.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Placements []string `json:"placements,omitempty"`
	// Selector over the labels of the Placements of the space. The Placement itself is never meant.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// By is the key of a label of SyncTargets: near are all targets with the value that a target of
	// theirs has. Absent means that only the same targets are near.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	By string `json:"by,omitempty"`
}

// TargetPreference raises the score of targets. Of those that pass all filters the ones with the
// highest sum are chosen.
//
// +kubebuilder:validation:XValidation:rule="has(self.selector) != has(self.freeCapacity)",message="exactly one of selector and freeCapacity is needed"
type TargetPreference struct {
	// Weight is added to the score of a target that the selector matches. With freeCapacity, it is
	// multiplied by the free share of the target's allocatable resource.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`
	// Selector over the labels of SyncTargets.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// FreeCapacity is the name of a resource, such as cpu or memory.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	FreeCapacity string `json:"freeCapacity,omitempty"`
}

// TargetGroup is a group of targets.
type TargetGroup struct {
	// Selector over the labels of SyncTargets. An empty one matches all.
	Selector metav1.LabelSelector `json:"selector"`
}

// PropertyRequirement is a requirement on a property of a target. Properties are the
// ClusterProperties of about.k8s.io that the target's cluster has, see SyncTarget.status.properties.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || size(self.values) == 0 : has(self.values) && size(self.values) > 0",message="In, NotIn, Gt and Lt need values; Exists and DoesNotExist take none"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt']) || size(self.values) == 1",message="Gt and Lt compare with exactly one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt']) || !has(self.values) || self.values.all(v, isQuantity(v))",message="Gt and Lt compare quantities, such as 4 or 16Gi"
type PropertyRequirement struct {
	// Name of the ClusterProperty.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Operator is In, NotIn, Exists, DoesNotExist, Gt or Lt. Gt and Lt compare quantities.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator PropertyOperator `json:"operator"`
	// Values to compare with.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Values []string `json:"values,omitempty"`
}

// PropertyOperator relates a property to values.
type PropertyOperator string

// The operators.
const (
	PropertyIn           PropertyOperator = "In"
	PropertyNotIn        PropertyOperator = "NotIn"
	PropertyExists       PropertyOperator = "Exists"
	PropertyDoesNotExist PropertyOperator = "DoesNotExist"
	PropertyGt           PropertyOperator = "Gt"
	PropertyLt           PropertyOperator = "Lt"
)

// TargetExpression is a condition on a target in CEL. It sees the variable target with the fields
// name, labels, properties, kubernetesVersion, capacity, allocatable and taints. Capacity and
// allocatable are maps of quantities: target.allocatable['memory'].isGreaterThan(quantity('8Gi')).
type TargetExpression struct {
	// Expression must be of type bool. A target for which it is false, or cannot be evaluated, is
	// not chosen.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Expression string `json:"expression"`
	// Message says for people why a target is not chosen when the expression is false.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
}
