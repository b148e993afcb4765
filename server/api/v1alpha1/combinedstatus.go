package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CombinedStatus is what StatusCollectors fold of the reports of many targets. Only the center
// writes it. One that has the name of a StatusCollector is about its whole scope; one with the prefix
// placement- and the name of a Placement is about the objects that the Placement decides about.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=combinedstatuses,scope=Cluster,categories=skerry
// +kubebuilder:printcolumn:name="Reporting",type=integer,JSONPath=`.freshness.reporting`
// +kubebuilder:printcolumn:name="Stale",type=integer,JSONPath=`.freshness.stale`
// +kubebuilder:printcolumn:name="Oldest",type=date,JSONPath=`.freshness.oldest`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CombinedStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Results has one result for each collector, in the order of their names.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Results []CombinedResult `json:"results,omitempty"`
	// Freshness is how old what was folded is.
	// +optional
	Freshness Freshness `json:"freshness,omitzero"`
}

// CombinedStatusOfPlacement is the name of the CombinedStatus of a Placement.
func CombinedStatusOfPlacement(placement string) string { return "placement-" + placement }

// CombinedResult is what one collector makes of the reports.
type CombinedResult struct {
	// Name of the StatusCollector.
	Name string `json:"name"`
	// ColumnNames are those of GroupBy and CombinedFields, or those of Select.
	ColumnNames []string `json:"columnNames"`
	// Rows have a text for each column. Numbers are decimal.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Rows [][]string `json:"rows,omitempty"`
	// Omitted is how many further rows there would be.
	// +optional
	Omitted int64 `json:"omitted,omitempty"`
	// Message says why there is no result.
	// +optional
	Message string `json:"message,omitempty"`
}

// Freshness is how old what was folded is.
type Freshness struct {
	// Reporting is how many targets have reports that count.
	Reporting int32 `json:"reporting"`
	// Stale is how many of them are not heard of: what they reported last counts.
	Stale int32 `json:"stale"`
	// Oldest is when the one that is silent for longest was last known to be current.
	// +optional
	Oldest *metav1.Time `json:"oldest,omitempty"`
}

// CombinedStatusList is a list of CombinedStatuses.
//
// +kubebuilder:object:root=true
type CombinedStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CombinedStatus `json:"items"`
}
