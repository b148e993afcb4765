package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutPolicy says how a change of the objects reaches the targets.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Progressive') || !(has(self.groupBy) || has(self.groups) || has(self.maxConcurrency) || has(self.minSuccessTime) || has(self.progressDeadline) || has(self.maxFailures) || has(self.offline) || has(self.whenFailed) || has(self.approval) || has(self.paused) || has(self.approved) || has(self.undo))",message="only type: Progressive has other fields: set rollout.type to Progressive, or remove them"
// +kubebuilder:validation:XValidation:rule="has(self.groupBy) || !(has(self.groups) || has(self.approval))",message="groups and approval need groupBy, the label whose values are the groups"
// +kubebuilder:validation:XValidation:rule="!has(self.approved) || (has(self.approval) && self.approval == 'Groups')",message="approved needs approval: Groups: without it no group waits"
// +kubebuilder:validation:XValidation:rule="!has(self.progressDeadline) || duration(self.progressDeadline) >= duration('1s')",message="progressDeadline must be at least 1s"
// +kubebuilder:validation:XValidation:rule="(has(self.minSuccessTime) ? duration(self.minSuccessTime) : duration('0s')) < (has(self.progressDeadline) ? duration(self.progressDeadline) : duration('30m'))",message="minSuccessTime must be less than progressDeadline (30m by default)"
type RolloutPolicy struct {
	// Type All sends each change to all targets at once. Progressive keeps releases, versions of the
	// content of the Placement: a release goes to one group of targets after the other, and only
	// while the targets that have it are well. What exists when Progressive begins is the first
	// release, and proven. Secrets, and what the objects name without being selected, go to all
	// targets at once. spec.replicas, and how they are divided, make no release.
	// +optional
	Type RolloutType `json:"type,omitempty"`
	// GroupBy is the key of a label of SyncTargets: targets with one value of it are a group. Without
	// it all targets are one group. Targets without the label are the last group.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	GroupBy string `json:"groupBy,omitempty"`
	// Groups are values of groupBy in the order of their turns. Other groups follow, by name.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Groups []string `json:"groups,omitempty"`
	// MaxConcurrency is how many targets may be getting a release at the same time: a number, or a
	// percentage of all targets of the Placement, which is rounded up. 1 by default.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 100000 : self.matches('^([1-9][0-9]?|100)%$')",message="maxConcurrency is a number from 1 to 100000, or a percentage from 1% to 100%"
	// +optional
	MaxConcurrency *intstr.IntOrString `json:"maxConcurrency,omitempty"`
	// MinSuccessTime is how long a target must have had all of a release applied and available
	// without a break before it counts as done. 0 by default. A center that restarts begins to count
	// anew.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	MinSuccessTime *metav1.Duration `json:"minSuccessTime,omitempty"`
	// ProgressDeadline is how long a target may take to be done with a release. After that it has
	// failed, until it is done. 30m by default.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
	// MaxFailures is how many targets may fail with a release before no other target gets it. 0 by
	// default.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	MaxFailures int32 `json:"maxFailures,omitempty"`
	// Offline is what becomes of targets that are not connected when it is their turn. Skip, the
	// default, goes on without them: they get the release when it is proven. Wait waits for them.
	// CountAsFailed counts them as failed. A target that gets a release and is silent then has failed
	// after progressDeadline, but for Wait, which waits for it.
	// +optional
	Offline OfflinePolicy `json:"offline,omitempty"`
	// WhenFailed is what happens when more than maxFailures targets have failed. Stop, the default,
	// leaves each target with what it has. Rollback gives all of them the proven release again, and
	// the release that has failed is not tried again.
	// +optional
	WhenFailed WhenFailed `json:"whenFailed,omitempty"`
	// Approval Groups has every group but the first wait for `skerry rollout approve`. None is the
	// default.
	// +kubebuilder:validation:Enum=None;Groups
	// +optional
	Approval RolloutApprovalPolicy `json:"approval,omitempty"`
	// Paused: no further target gets a release, nor is one taken back. `skerry rollout pause` and
	// `resume` set it.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// Approved are the groups that may get a release. `skerry rollout approve` sets it.
	// +optional
	Approved *RolloutApproval `json:"approved,omitempty"`
	// Undo takes back a release for as long as there is no newer one. `skerry rollout undo` sets it.
	// +optional
	Undo *RolloutUndo `json:"undo,omitempty"`
}

// RolloutType is All or Progressive.
//
// +kubebuilder:validation:Enum=All;Progressive
type RolloutType string

// The types of rollouts.
const (
	RolloutAll         RolloutType = "All"
	RolloutProgressive RolloutType = "Progressive"
)

// OfflinePolicy is what becomes of targets that are not connected when it is their turn.
//
// +kubebuilder:validation:Enum=Skip;Wait;CountAsFailed
type OfflinePolicy string

// The policies for targets that are not connected.
const (
	OfflineSkip          OfflinePolicy = "Skip"
	OfflineWait          OfflinePolicy = "Wait"
	OfflineCountAsFailed OfflinePolicy = "CountAsFailed"
)

// WhenFailed is what happens when too many targets have failed.
//
// +kubebuilder:validation:Enum=Stop;Rollback
type WhenFailed string

// What may happen when too many targets have failed.
const (
	WhenFailedStop     WhenFailed = "Stop"
	WhenFailedRollback WhenFailed = "Rollback"
)

// RolloutApprovalPolicy says what waits for approval.
type RolloutApprovalPolicy string

// What may wait for approval.
const (
	ApprovalNone   RolloutApprovalPolicy = "None"
	ApprovalGroups RolloutApprovalPolicy = "Groups"
)

// RolloutApproval approves a release for groups.
type RolloutApproval struct {
	// Release is the number of the release.
	// +kubebuilder:validation:Minimum=1
	Release int64 `json:"release"`
	// Groups that may get it; "*" stands for all.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	Groups []string `json:"groups"`
}

// RolloutUndo takes back a release.
//
// +kubebuilder:validation:XValidation:rule="!has(self.to) || self.to < self.release",message="to is a release from before the one that is taken back"
type RolloutUndo struct {
	// Release is the number of the release that is taken back. It has no effect while another one is
	// the newest.
	// +kubebuilder:validation:Minimum=1
	Release int64 `json:"release"`
	// To is the proven release that all targets get instead: by default the newest before it.
	// +kubebuilder:validation:Minimum=1
	// +optional
	To int64 `json:"to,omitempty"`
}

// RolloutStatus is how far the releases of a Placement are.
type RolloutStatus struct {
	// Release is the newest release.
	Release int64 `json:"release"`
	// Goal is the release that the targets are to have: the newest one, unless it is taken back.
	Goal int64 `json:"goal"`
	// Proven is the proven release that targets have, or get when they come back or are new.
	Proven int64 `json:"proven"`
	// Phase is Complete, RollingOut, Paused, Failed, WaitingForApproval, Undone or RolledBack.
	Phase string `json:"phase"`
	// Message says what the rollout waits for.
	// +optional
	Message string `json:"message,omitempty"`
	// Group has its turn, or waits for its approval.
	// +optional
	Group string `json:"group,omitempty"`
	// Total is how many targets there are; Updated of them have been given the goal, Done are well
	// with it, Failed are not, and Skipped are not connected.
	Total   int32 `json:"total"`
	Updated int32 `json:"updated"`
	Done    int32 `json:"done"`
	Failed  int32 `json:"failed"`
	Skipped int32 `json:"skipped"`
	// FailedTargets names the targets that have failed, 20 at most.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	FailedTargets []string `json:"failedTargets,omitempty"`
	// Releases are those that are kept, the newest last.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Releases []KeptRelease `json:"releases,omitempty"`
}

// KeptRelease is one version of the content of a Placement.
type KeptRelease struct {
	// Number of the release.
	Number int64 `json:"number"`
	// Created is when it was made.
	Created metav1.Time `json:"created"`
	// Proven: a rollout of it was completed, or it is the first.
	// +optional
	Proven bool `json:"proven,omitempty"`
	// RolledBack: it has failed and was taken back.
	// +optional
	RolledBack bool `json:"rolledBack,omitempty"`
	// Targets is how many targets have it.
	Targets int32 `json:"targets"`
	// Objects is how many objects it has.
	Objects int32 `json:"objects"`
}
