package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxWorst is how many problems the status of a Placement names.
const MaxWorst = 20

// TargetCounts counts the targets of a Placement by what they last reported. Selected, Synced and
// Available count every target, also those that are not heard of at the moment: what they run goes
// on as far as anybody knows. Failed, Drifted and Conflicted count only targets that are heard.
type TargetCounts struct {
	// Selected are the targets of the decision.
	Selected int32 `json:"selected"`
	// Synced targets have everything applied as it is desired now.
	Synced int32 `json:"synced"`
	// Available targets have everything applied, and its workloads are available in full.
	Available int32 `json:"available"`
	// Failed targets refuse an object, or have one that has failed, such as a Job. Those that have
	// drifted or are in conflict count here, too.
	Failed int32 `json:"failed"`
	// Stale targets are not heard of, or their cluster does not answer: what is known is old.
	Stale int32 `json:"stale"`
	// Drifted targets have an object that somebody else has changed there, and that stays so.
	Drifted int32 `json:"drifted"`
	// Conflicted targets have an object that belongs to somebody else there.
	Conflicted int32 `json:"conflicted"`
	// PendingOffline targets are stale and do not have the latest change yet. They get it when they
	// are back.
	PendingOffline int32 `json:"pendingOffline"`
}

// The reasons of a TargetProblem that Skerry gives itself. Others are those of the target:
// Forbidden, AlreadyExists, Drifted, ProgressDeadlineExceeded and so on.
const (
	// ProblemNotReported: the target has said nothing of an object yet.
	ProblemNotReported = "NotReported"
	// ProblemNotSynced: an object is not applied there yet as it is desired now.
	ProblemNotSynced = "NotSynced"
	// ProblemNotAvailable: a workload is applied and not available in full.
	ProblemNotAvailable = "NotAvailable"
	// ProblemStale: the target is not heard of.
	ProblemStale = "Stale"
	// ProblemPendingOffline: the target is not heard of and lacks the latest change.
	ProblemPendingOffline = "PendingOffline"
)

// TargetProblem is what is wrong at one target: the worst of its objects.
type TargetProblem struct {
	// Target is a SyncTarget.
	Target string `json:"target"`
	// Object is RESOURCE/NAMESPACE/NAME, or RESOURCE/NAME, empty where the target itself is meant.
	// +optional
	Object string `json:"object,omitempty"`
	// Reason is a CamelCase word: Forbidden, AlreadyExists, Drifted, ProgressDeadlineExceeded,
	// NotAvailable, NotSynced, NotReported, Stale, PendingOffline and others that targets say.
	Reason string `json:"reason"`
	// Message is for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Since is when the center first saw it.
	Since metav1.Time `json:"since"`
}

// StatusAge tells how old the oldest of what is known is. Targets that are heard are current.
type StatusAge struct {
	// Oldest is when the target that was silent for longest was last known to be current. It is
	// absent while all targets are current.
	// +optional
	Oldest *metav1.Time `json:"oldest,omitempty"`
	// P95: 95 of 100 targets were known to be current at this time, or later. It is absent while 95 of
	// 100 are current.
	// +optional
	P95 *metav1.Time `json:"p95,omitempty"`
}

// Associated says whether what belongs to placed objects comes back.
//
// +kubebuilder:validation:Enum=Auto;None
type Associated string

// Whether what belongs to placed objects comes back.
const (
	AssociatedAuto Associated = "Auto"
	AssociatedNone Associated = "None"
)

// StatusPolicy says what comes back of the objects of a Placement beside their statuses.
type StatusPolicy struct {
	// Associated says whether the Pods, ReplicaSets, Jobs and ControllerRevisions of the objects, and
	// the targets' Warnings about them, come back. Auto: targets report them, and the space shows those
	// of an object that is on 10 targets at most; those of more are shown live, by skerry space use SPACE
	// --at TARGET. None: targets do not report them, which saves a metered link most of what statuses
	// cost; logs, exec and StatusCollectors find no Pods then. The statuses of the objects themselves,
	// claims and addresses come back in any case.
	// +kubebuilder:default=Auto
	// +optional
	Associated Associated `json:"associated,omitempty"`
	// Collectors are names of StatusCollectors of the space: what they fold of the objects of this
	// Placement is in the CombinedStatus placement-NAME.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Collectors []string `json:"collectors,omitempty"`
}
