package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StatusCollector says what is folded of many reports: of all objects of one kind, at all targets of
// its space. What comes out is the CombinedStatus of its name, and, where a Placement names the
// collector in spec.status.collectors, a result in the CombinedStatus of the Placement.
//
// Expressions are CEL with the libraries of Kubernetes. They see obj, which has metadata (name,
// namespace, labels, annotations), spec and status as they are known, and target, which has name and
// labels.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=skerry
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reports",type=integer,JSONPath=`.status.reports`
// +kubebuilder:printcolumn:name="Errors",type=integer,JSONPath=`.status.errors`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.startsWith('placement-')",message="names that begin with placement- are those of what is folded for Placements; choose another name"
type StatusCollector struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StatusCollectorSpec   `json:"spec"`
	Status StatusCollectorStatus `json:"status,omitempty"`
}

// StatusCollectorSpec is what is folded, and how.
//
// +kubebuilder:validation:XValidation:rule="has(self.select) != (has(self.combinedFields) || has(self.groupBy))",message="either select, which lists reports, or combinedFields with or without groupBy, which folds them, is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.groupBy) || has(self.combinedFields)",message="groupBy needs combinedFields: what is told of each group, such as {name: n, type: COUNT}"
type StatusCollectorSpec struct {
	// Scope says which objects are looked at.
	Scope CollectorScope `json:"scope"`
	// Filter is an expression that is true for the reports that count. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Filter string `json:"filter,omitempty"`
	// GroupBy makes a row of all reports that have the same values.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=name
	GroupBy []NamedExpression `json:"groupBy,omitempty"`
	// CombinedFields are what is told of each group, or of all reports where GroupBy is empty.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	CombinedFields []CombinedField `json:"combinedFields,omitempty"`
	// Select makes a row of each report, with these columns.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	Select []NamedExpression `json:"select,omitempty"`
	// OrderBy is the column by which rows are ordered, greatest first. Where it is empty that is the
	// first of CombinedFields; rows of Select are in the order of their texts.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	OrderBy string `json:"orderBy,omitempty"`
	// Ascending puts the least first.
	// +optional
	Ascending bool `json:"ascending,omitempty"`
	// Limit is how many rows there are at most, 0 means 20.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Limit int32 `json:"limit,omitempty"`
}

// CollectorScope selects objects that targets report: what is placed there, and the Pods,
// ReplicaSets, Jobs and so on that it owns.
//
// +kubebuilder:validation:XValidation:rule="self.resource != 'secrets' || (has(self.apiGroup) && size(self.apiGroup) > 0)",message="nothing is folded of Secrets"
type CollectorScope struct {
	// APIGroup of the objects; empty is the core group.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`
	// Resource is a lower-case plural ("pods").
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9.-]+$`
	Resource string `json:"resource"`
	// Namespaces by name. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Namespaces []string `json:"namespaces,omitempty"`
	// LabelSelector over the labels of the objects.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// OwnedBy Placed selects only what a placed object owns at the target. Empty means all.
	// +optional
	// +kubebuilder:validation:Enum=Placed
	OwnedBy string `json:"ownedBy,omitempty"`
}

// NamedExpression is a column.
type NamedExpression struct {
	// Name of the column.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Def is an expression of a text, a number or a truth.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Def string `json:"def"`
}

// CombineType says how many values become one. All can be made of parts.
//
// +kubebuilder:validation:Enum=COUNT;SUM;MIN;MAX;AVG
type CombineType string

// The combinations that there are.
const (
	CombineCount CombineType = "COUNT"
	CombineSum   CombineType = "SUM"
	CombineMin   CombineType = "MIN"
	CombineMax   CombineType = "MAX"
	CombineAvg   CombineType = "AVG"
)

// CombinedField is one value of a group.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'COUNT') != has(self.subject)",message="subject, the number that is combined, is needed with SUM, MIN, MAX and AVG, and has no meaning with COUNT"
type CombinedField struct {
	// Name of the column.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Type of the combination.
	Type CombineType `json:"type"`
	// Subject is an expression of a number.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Subject string `json:"subject,omitempty"`
}

// StatusCollectorStatus is how a collector does.
type StatusCollectorStatus struct {
	// ObservedGeneration is the generation of the spec that this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Reports are in its scope and pass its filter.
	Reports int64 `json:"reports"`
	// Errors counts the reports of which an expression could not be evaluated. They count nowhere.
	Errors int64 `json:"errors"`
	// LastError is one of them, in words.
	// +optional
	LastError string `json:"lastError,omitempty"`
	// Conditions: Ready.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StatusCollectorList is a list of StatusCollectors.
//
// +kubebuilder:object:root=true
type StatusCollectorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StatusCollector `json:"items"`
}
