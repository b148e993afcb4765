package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MovePolicy says how objects change their place. What no Placement decides about moves by the
// defaults.
//
// +kubebuilder:validation:XValidation:rule="!has(self.readyTimeout) || duration(self.readyTimeout) >= duration('1s')",message="readyTimeout must be at least 1s"
// +kubebuilder:validation:XValidation:rule="!has(self.minReadySeconds) || self.minReadySeconds == 0 || (has(self.readyTimeout) ? duration(self.readyTimeout).getSeconds() : 600) > self.minReadySeconds",message="minReadySeconds must be less than readyTimeout"
type MovePolicy struct {
	// Type of a move. MakeBeforeBreak places the objects on the new targets first and takes them
	// off the old ones when they are available on the new. What must not run twice comes last, when the
	// old have confirmed that it is gone: StatefulSets, Deployments with the strategy Recreate, users of
	// claims that one node mounts, CronJobs and Jobs. BreakBeforeMake does so with all objects.
	// +kubebuilder:default=MakeBeforeBreak
	// +optional
	Type MoveType `json:"type,omitempty"`
	// ReadyTimeout is how long the objects may take to be available on the new targets, or to be
	// gone from the old ones. After that they go back to where they were, and the condition Moving
	// says why. What leaves the old target first, and is refused by the new one, goes back after a minute. The move is
	// tried again when the objects, the wish or the targets change.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	ReadyTimeout *metav1.Duration `json:"readyTimeout,omitempty"`
	// MinReadySeconds is how long everything must have been available on a new target without a
	// break before the old one is left. It is part of readyTimeout. A center that restarts begins to
	// count anew. Without it, it is 5 seconds, half of readyTimeout at most, where a Service moves along,
	// and else 0: a site takes a while until it routes to what is ready. Services and Ingresses that have
	// an address on the old target are awaited to have one on the new target, for a third of
	// readyTimeout; not where this is 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// BeforeLeaving are hooks that run one after the other before a target is left: once the new
	// copy is ready, or, with BreakBeforeMake, before the old one is removed. They run for every reason
	// to leave: a move, a drain, a changed wish. A target that is away and whose lease has ended, or
	// that is out of service, is left without. So does what had begun there and follows later.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	BeforeLeaving []MoveHook `json:"beforeLeaving,omitempty"`
	// Volumes says what becomes of volumes when the only target of the objects becomes another one. Stay keeps
	// the objects where their volumes are. Move copies what the volumes hold while the objects run, takes the
	// objects off, copies the rest, compares, and begins at the new target; until then they return when it takes
	// longer than readyTimeout. The old volumes stay for keepVolumes. What a relay has on several of its targets does
	// not move. Replicate is Move, and what the volumes hold is copied to a standby again and again while the objects
	// run, see volumeReplication. The annotation skerry.dev/volumes of a Namespace says the same for what no Placement
	// decides about.
	// +kubebuilder:default=Stay
	// +optional
	Volumes VolumePolicy `json:"volumes,omitempty"`
	// VolumesOverMeteredLinks allows volumes to move where the link of either target is metered. Without it, and without
	// volumeReplication.overMeteredLinks, the objects stay where they are, and the condition Moving says why.
	// +optional
	VolumesOverMeteredLinks bool `json:"volumesOverMeteredLinks,omitempty"`
	// KeepVolumes is how long the volumes stay at the target that was left, once the objects are ready at the new
	// one. A target that is drained keeps none.
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	KeepVolumes *metav1.Duration `json:"keepVolumes,omitempty"`
	// VolumeReplication says where the standby is, how often it becomes like the volumes, and how consistent it is.
	// For volumes: Replicate; without it nothing is replicated, and the condition Replicated of each claim says so. The
	// annotation skerry.dev/volume-replication of a Namespace has the same as JSON.
	// +optional
	VolumeReplication *VolumeReplication `json:"volumeReplication,omitempty"`
}

// VolumeReplication says where the copies of volumes are that an app can begin on when its target is lost.
//
// +kubebuilder:validation:XValidation:rule="!has(self.every) || duration(self.every) >= duration('10s')",message="every must be at least 10s"
// +kubebuilder:validation:XValidation:rule="!has(self.maxAge) || !has(self.every) || duration(self.maxAge) >= duration(self.every)",message="maxAge must be at least every"
type VolumeReplication struct {
	// Target that has the standby: a SyncTarget, or a Location of one. Nothing else of the objects is there. While
	// they are there themselves, nothing is replicated.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Target string `json:"target"`
	// Every is the time from the beginning of one round to that of the next. What was written after the last
	// round is lost with the target.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	Every *metav1.Duration `json:"every,omitempty"`
	// MaxAge is how old the last round may have been when the target went silent, for the objects to begin on the standby
	// by themselves (failover.mode AfterLease). What was written since that round is lost then. They begin on an older
	// one when somebody says so: skerry volume promote. Default: four times every, and at least 10m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
	// Consistency of a round. Fuzzy is the only one: files are read one after the other while the objects write, so
	// that the standby is like the disk of a machine that lost its power at no single moment. Without it nothing is
	// replicated.
	// +optional
	Consistency VolumeConsistency `json:"consistency,omitempty"`
	// OverMeteredLinks allows rounds where the link of either target is metered.
	// +optional
	OverMeteredLinks bool `json:"overMeteredLinks,omitempty"`
}

// VolumeConsistency is how far what a round copies belongs together.
//
// +kubebuilder:validation:Enum=Fuzzy
type VolumeConsistency string

// VolumesFuzzy copies files one after the other while they are written.
const VolumesFuzzy VolumeConsistency = "Fuzzy"

// VolumePolicy says what becomes of volumes in a move.
//
// +kubebuilder:validation:Enum=Stay;Move;Replicate
type VolumePolicy string

// The policies.
const (
	VolumesStay VolumePolicy = "Stay"
	VolumesMove VolumePolicy = "Move"
	// VolumesReplicate is VolumesMove with a standby.
	VolumesReplicate VolumePolicy = "Replicate"
)

// MoveType is the order of the two halves of a move.
//
// +kubebuilder:validation:Enum=MakeBeforeBreak;BreakBeforeMake
type MoveType string

// The types of moves.
const (
	MakeBeforeBreak MoveType = "MakeBeforeBreak"
	BreakBeforeMake MoveType = "BreakBeforeMake"
)
