package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FailoverPolicy says what becomes of objects whose target is away for longer than
// SyncTarget.spec.evictAfter.
//
// +kubebuilder:validation:XValidation:rule="!has(self.failbackAfter) || duration(self.failbackAfter) >= duration('1s')",message="failbackAfter must be at least 1s"
type FailoverPolicy struct {
	// Mode Never keeps the objects on a target that is away. AfterLease moves them to another one:
	// what may run twice at once, and what must not (StatefulSets, Jobs, workloads with claims that
	// one node mounts, and all that this Placement moves by BreakBeforeMake) once the lease of the
	// target has ended, see SyncTarget.spec.lease; without a lease that stays. Volumes are left
	// behind on the target that is away, and new, empty ones are made. Null is AfterLease for what
	// has no volumes; what has stays with them.
	// +optional
	Mode FailoverMode `json:"mode,omitempty"`
	// FailbackAfter moves the objects back to a target that targets.preferences weigh more than one
	// that they are on, once it has been connected for so long and takes something new. They leave
	// one target at a time. With targets.groups a target of an earlier group comes before all of later
	// ones, whatever these weigh. It needs targets.count, and groups, or preferences by selector
	// alone. Null: nothing moves back by itself.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	FailbackAfter *metav1.Duration `json:"failbackAfter,omitempty"`
}

// FailoverMode is whether objects leave a target that is away.
//
// +kubebuilder:validation:Enum=Never;AfterLease
type FailoverMode string

// The modes.
const (
	FailoverNever      FailoverMode = "Never"
	FailoverAfterLease FailoverMode = "AfterLease"
)
