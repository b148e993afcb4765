package v1alpha1

// SyncPolicy says how selected objects meet what a target already has, and what its other writers
// do.
type SyncPolicy struct {
	// WhenAlreadyExists says what happens when the target has an object of this name that was not
	// delivered from here. ReportError leaves it as it is and says so; TakeOverIfNoDiff takes it
	// over when it has all that is wanted already; TakeOver overwrites it.
	// +kubebuilder:default=ReportError
	// +optional
	WhenAlreadyExists WhenAlreadyExists `json:"whenAlreadyExists,omitempty"`
	// WhenDrifted says what happens when somebody else changes or deletes a delivered object on the
	// target. Restore makes it as wanted again; Report leaves the change and says so.
	// +kubebuilder:default=Restore
	// +optional
	WhenDrifted WhenDrifted `json:"whenDrifted,omitempty"`
	// WhenPlacementDeleted says what becomes of an object on a target that it is no longer placed
	// on. Clean deletes it there; Orphan leaves it running there, without the labels and
	// annotations of skerry.dev, so what must not run twice does not move to another target. An
	// object that is deleted in the space is deleted on its targets in any case.
	// +kubebuilder:default=Clean
	// +optional
	WhenPlacementDeleted WhenPlacementDeleted `json:"whenPlacementDeleted,omitempty"`
	// RetainFields are JSON pointers (RFC 6901) to fields that belong to the target: what is wanted
	// does not name them there, and a change of them is no drift. "/spec/replicas" leaves the
	// number of replicas to an autoscaler of the target.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^(/([^/~]|~[01])+)+$`
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '/apiVersion' && p != '/kind' && p != '/status' && !p.startsWith('/status/'))",message="apiVersion, kind and status cannot be retained: name fields of spec, data, labels or annotations"
	// +kubebuilder:validation:XValidation:rule="self.all(p, (p != '/metadata' && !p.startsWith('/metadata/')) || p.matches('^/metadata/(labels|annotations)/[^/]+$'))",message="of metadata only single labels and annotations can be retained: /metadata/labels/NAME, with ~1 for / in NAME"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !p.matches('^/metadata/(labels|annotations)/skerry[.]dev~1'))",message="labels and annotations of skerry.dev cannot be retained: Skerry writes them"
	RetainFields []string `json:"retainFields,omitempty"`
}

// WhenAlreadyExists says what happens to an object that is in the way.
//
// +kubebuilder:validation:Enum=ReportError;TakeOverIfNoDiff;TakeOver
type WhenAlreadyExists string

// What happens to an object that is in the way.
const (
	ReportError      WhenAlreadyExists = "ReportError"
	TakeOverIfNoDiff WhenAlreadyExists = "TakeOverIfNoDiff"
	TakeOver         WhenAlreadyExists = "TakeOver"
)

// WhenDrifted says what happens to another's change of a delivered object.
//
// +kubebuilder:validation:Enum=Restore;Report
type WhenDrifted string

// What happens to another's change of a delivered object.
const (
	DriftRestore WhenDrifted = "Restore"
	DriftReport  WhenDrifted = "Report"
)

// WhenPlacementDeleted says what becomes of an object on a target that it leaves.
//
// +kubebuilder:validation:Enum=Clean;Orphan
type WhenPlacementDeleted string

// What becomes of an object on a target that it leaves.
const (
	PlacementClean  WhenPlacementDeleted = "Clean"
	PlacementOrphan WhenPlacementDeleted = "Orphan"
)
