package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Lease is for how long a target may go unheard, and what its agent does then with what must not run
// twice: StatefulSets, Jobs, CronJobs, workloads with claims that one node mounts, and what a
// Placement moves by BreakBeforeMake.
type Lease struct {
	// Duration of the lease, counted from its last renewal. The agent renews it six times in that
	// time. At least 30s, over a metered link 5m: a broken link is noticed and replaced within 10 s,
	// and no app is to stop for that.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s')",message="the lease must last at least 30s: a link that breaks is silent for up to 10s before it is replaced"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('2160h')",message="the lease must not last longer than 2160h, 90 days; without a lease nothing ever stops"
	Duration metav1.Duration `json:"duration"`
	// OnExpiry is what the agent does when it has not heard the center for Duration. KeepRunning
	// changes nothing, and what must not run twice stays on the target until that is back. ScaleToZero
	// stops what must not run twice at the site: it scales workloads to zero, suspends Jobs and
	// CronJobs and deletes Pods, until the center is heard and nothing that it has sent is lacking.
	// All else goes on. Then the center may start it elsewhere (spec.failover of Placements). The site
	// may refuse this with --allow-scale-to-zero=false, see status.lease.
	// +kubebuilder:default=KeepRunning
	// +optional
	OnExpiry LeaseExpiry `json:"onExpiry,omitempty"`
}

// LeaseExpiry is what an agent does at the end of its lease.
//
// +kubebuilder:validation:Enum=KeepRunning;ScaleToZero
type LeaseExpiry string

// What an agent does at the end of its lease.
const (
	KeepRunning LeaseExpiry = "KeepRunning"
	ScaleToZero LeaseExpiry = "ScaleToZero"
)

// SyncTargetLease is what may have been promised to a target's agent. It is written before that is
// promised, so that a center that takes over knows what to wait for.
type SyncTargetLease struct {
	// Duration is the longest that the agent may count.
	Duration metav1.Duration `json:"duration"`
	// OnExpiry is ScaleToZero once the agent has confirmed that it stops, and until it may have been
	// told that it need not.
	OnExpiry LeaseExpiry `json:"onExpiry"`
}

// TaintUnstable is the key of the taint, with the effect NoSchedule, that decisions see on a target
// with the condition Stable=False.
const TaintUnstable = "skerry.dev/unstable"

// Conditions of SyncTargets about leases and failover.
const (
	// ConditionStable is False while a target that was lost several times is not trusted yet with
	// anything new.
	ConditionStable = "Stable"
	// ConditionLeaseConfirmed says, where spec.lease.onExpiry is ScaleToZero, whether the agent has
	// confirmed that it stops what must not run twice.
	ConditionLeaseConfirmed = "LeaseConfirmed"
	// ConditionLeaseHeld is False while the lease of an agent has ended, so that what must not run
	// twice is stopped there. The agent says it of itself.
	ConditionLeaseHeld = "LeaseHeld"
)
