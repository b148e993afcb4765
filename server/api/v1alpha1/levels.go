package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// PolicyPrefix begins the name of a Placement that the center keeps in a space for a Placement of
// root: root's Placement eu-only is root.eu-only there. Nobody else makes a Placement of such a name.
const PolicyPrefix = "root."

// Annotations of Placements of root, of StatefulSets and of Services.
const (
	// AnnotationPolicy stands on a Placement that the center keeps in a space: the UID and the
	// generation of the Placement of root that it was made of, as UID/GENERATION.
	AnnotationPolicy = "skerry.dev/policy"

	// AnnotationReplicas on a StatefulSet, as ReplicasDuplicated, allows it to run with all its replicas
	// on each of several targets.
	AnnotationReplicas = "skerry.dev/replicas"

	// AnnotationShares stands on what targets are sent of a workload whose replicas are divided: how
	// many each target has, as a JSON object of integers by the name of the SyncTarget. A target that
	// is not in it has none.
	AnnotationShares = "skerry.dev/shares"

	// AnnotationScales stands on what targets are sent of a HorizontalPodAutoscaler whose bounds are divided:
	// the least and the most replicas at each, as a JSON object of pairs by the name of the SyncTarget.
	AnnotationScales = "skerry.dev/scales"

	// AnnotationBudgets stands on what targets are sent of a PodDisruptionBudget that is divided: minAvailable
	// or maxUnavailable at each, as a JSON object of objects by the name of the SyncTarget.
	AnnotationBudgets = "skerry.dev/budgets"

	// AnnotationReach on a Service is its Reach. On a Namespace it is that of the Services in it which say
	// nothing.
	AnnotationReach = "skerry.dev/reach"

	// AnnotationHosts stands on what targets are sent of a Service that reaches its space: the host names of the Pods
	// of the StatefulSets that it governs, as in "db-{0..2},arbiter-{0..0}".
	AnnotationHosts = "skerry.dev/hosts"

	// AnnotationMembers stands on a Service that serves a ServiceImport: the spaces of its set, separated by commas.
	// Targets get each with its UID behind "=", and let the Pods of these call it. Only the center writes it.
	AnnotationMembers = "skerry.dev/members"
	// AnnotationExporters stands on a Service that serves a ServiceImport: the spaces that export what it stands for,
	// separated by commas. A relay leads callers there by itself.
	AnnotationExporters = "skerry.dev/exporters"
	// AnnotationExported stands on a ServiceImport: the keys of the labels and annotations that it has of a ServiceExport,
	// as a JSON object of two lists.
	AnnotationExported = "skerry.dev/exported"

	// AnnotationEntered stands, with the value "true", on what targets are sent of a Service that reaches its space and
	// that an Ingress or a route of the Gateway API sends callers to.
	AnnotationEntered = "skerry.dev/entered"

	// AnnotationStops stands on what targets are sent of a CronJob that leaves some when its Jobs have ended: where it
	// starts no more of them, as a JSON object of true by the name of the SyncTarget.
	AnnotationStops = "skerry.dev/stops"

	// AnnotationVolumes on a Namespace is what becomes of the volumes of what is in it when it moves, as
	// MovePolicy.Volumes says it for what a Placement decides about: VolumesStay, VolumesMove or VolumesReplicate.
	AnnotationVolumes = "skerry.dev/volumes"

	// AnnotationReplication on a Namespace is a VolumeReplication as JSON, for VolumesReplicate.
	AnnotationReplication = "skerry.dev/volume-replication"

	// AnnotationStandby stands on the Deployment that keeps a standby of a claim: what it holds, as JSON of package
	// volumes. Only the center writes it.
	AnnotationStandby = "skerry.dev/standby"

	// AnnotationPromote, with the value "true", on such a Deployment lets the app begin on the standby when the target
	// that it runs on is lost: what was written after the last round is given up.
	AnnotationPromote = "skerry.dev/promote"

	// AnnotationMover stands on the Deployments that copy volumes during a move: of which unit, between which targets,
	// and at which of them.
	AnnotationMover = "skerry.dev/mover-of"

	// AnnotationKeepUntil stands on such a Deployment once it only keeps the volume that was left: until that time, as
	// in RFC 3339. To delete it is to delete that volume.
	AnnotationKeepUntil = "skerry.dev/keep-until"
)

// IsPolicy reports whether a Placement of a space, by its name, is kept for one of root.
func IsPolicy(name string) bool { return strings.HasPrefix(name, PolicyPrefix) }

// Precedence says how a Placement of root stands to what a space says itself.
//
// +kubebuilder:validation:Enum=Default;Override
type Precedence string

// The precedences.
const (
	// PrecedenceDefault counts where the space itself says nothing.
	PrecedenceDefault Precedence = "Default"
	// PrecedenceOverride counts before all that the space says.
	PrecedenceOverride Precedence = "Override"
)

// DividedFields are the fields of specs of autoscalers and disruption budgets that are shared out among targets.
func DividedFields() []string {
	return []string{"minReplicas", "maxReplicas", "minAvailable", "maxUnavailable"}
}

// Replicas says what several targets do with the replicas of a workload.
//
// +kubebuilder:validation:Enum=Duplicated;Divided
type Replicas string

const (
	// ReplicasDuplicated runs all replicas on each target.
	ReplicasDuplicated Replicas = "Duplicated"
	// ReplicasDivided shares spec.replicas out among the targets.
	ReplicasDivided Replicas = "Divided"
)

// Division says how many of the replicas each target gets.
//
// +kubebuilder:validation:XValidation:rule="!has(self.weights) || !has(self.by) || self.by == 'Weights'",message="weights are for by: Weights; leave one of both out"
type Division struct {
	// By is Weights or Allocatable. Weights is the default: the targets count alike, where weights
	// say nothing else. With Allocatable a target counts as much as it has allocatable CPU, in steps
	// of a quarter, so that small changes move nothing.
	// +optional
	By DivisionBasis `json:"by,omitempty"`
	// Weights of targets. The first that matches a target counts; a target that none matches has
	// weight 1.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Weights []TargetWeight `json:"weights,omitempty"`
}

// DivisionBasis is what the shares of targets are in proportion to.
//
// +kubebuilder:validation:Enum=Weights;Allocatable
type DivisionBasis string

// The bases.
const (
	DivisionByWeights     DivisionBasis = "Weights"
	DivisionByAllocatable DivisionBasis = "Allocatable"
)

// TargetWeight gives a weight to targets.
//
// +kubebuilder:validation:XValidation:rule="has(self.selector) || has(self.names)",message="say which targets: selector, names, or both"
type TargetWeight struct {
	// Selector over the labels of SyncTargets, and Names of them. With both a target must match both.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Names []string `json:"names,omitempty"`
	// Weight, from 0 to 1000: a target of weight 2 gets twice as many replicas as one of weight 1,
	// one of weight 0 gets none while another has more.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Weight int32 `json:"weight"`
}

// PolicyStatus says how far a Placement of root is carried out, over all spaces that it selects.
type PolicyStatus struct {
	// Selected is how many spaces the spaceSelector selects. InForce is how many of them have the
	// Placement as its spec is now.
	Selected int32 `json:"selected"`
	InForce  int32 `json:"inForce"`
	// Scheduled, Synced and Available are how many of them have that condition as True. Conflicting
	// is how many have the condition Conflict.
	Scheduled   int32 `json:"scheduled"`
	Synced      int32 `json:"synced"`
	Available   int32 `json:"available"`
	Conflicting int32 `json:"conflicting"`
	// First are the first spaces, by name, that are not as they should be, at most 10.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	First []SpaceInTrouble `json:"first,omitempty"`
}

// SpaceInTrouble is a space in which a Placement of root is not carried out.
type SpaceInTrouble struct {
	Space string `json:"space"`
	// Condition is the condition of the Placement in that space that is not as it should be, Reason
	// and Message are its words.
	Condition string `json:"condition"`
	Reason    string `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
}

// Conditions of Placements of root.
const (
	// ConditionInForce says of a Placement of root whether every space that it selects has it.
	ConditionInForce = "InForce"
)

// BringsDependencies reports whether what a selected object names goes with it.
func (s *PlacementSpec) BringsDependencies() bool {
	return s.IncludeDependencies == nil || *s.IncludeDependencies
}

// SelectsSpaces returns the selector over the labels of Spaces; it selects nothing where the spec
// has none.
func (s *PlacementSpec) SelectsSpaces() (selects func(of map[string]string) bool, err error) {
	selector, err := metav1.LabelSelectorAsSelector(s.SpaceSelector)
	if err != nil {
		return nil, err
	}
	return func(of map[string]string) bool { return selector.Matches(labels.Set(of)) }, nil
}
