package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Bounds are amounts of what objects ask of a target.
//
// +kubebuilder:validation:XValidation:rule="(!has(self.cpu) || !quantity(string(self.cpu)).isLessThan(quantity('0'))) && (!has(self.memory) || !quantity(string(self.memory)).isLessThan(quantity('0')))",message="cpu and memory must not be negative: write 0 to place nothing that requests any, or leave the bound out"
type Bounds struct {
	// CPU and Memory are requests of pod templates times replicas.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Pods is how many pods workloads ask for: replicas, parallelism of Jobs.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Pods *int64 `json:"pods,omitempty"`
	// Objects is how many objects are placed.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Objects *int64 `json:"objects,omitempty"`
}

// DisruptionPolicy bounds what drains of targets do to a Placement, as a PodDisruptionBudget bounds
// what drains of nodes do to pods.
type DisruptionPolicy struct {
	// MinAvailable is how many of the Placement's targets must keep its objects while others are
	// drained: a number, or a percentage of the targets that it wishes, rounded up. Null: at least
	// one keeps them, and as many as spec.targets.count says where replacements are found.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[0-9]{1,2})%$')",message="minAvailable is a number of targets or a percentage: 2 or 50%"
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
}
