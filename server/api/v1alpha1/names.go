package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of all kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "skerry.dev", Version: "v1alpha1"}

// RootSpace is the space of the platform admin: it holds Spaces, Locations and SyncTargets, and is
// served without prefix.
const RootSpace = "root"

// UsersNamespace is the namespace of a space whose ServiceAccounts are users of that space: a token
// of the account alice authenticates User alice. The account of every namespace, default, is left
// out.
const UsersNamespace = "kube-users"

// Labels and annotations of objects, see the README of this folder.
const (
	// LabelTarget is the user's wish on a Namespace or an object: the name of a SyncTarget or of a
	// Location.
	LabelTarget = "skerry.dev/target"
	// LabelUser stands on the account and on the bindings that `skerry space` made for a user: the
	// user's name, or a digest of a name that is no label value.
	LabelUser = "skerry.dev/user"
	// AnnotationTargets tells where an object is: SyncTarget names joined by commas. Only the
	// center writes it.
	AnnotationTargets = "skerry.dev/targets"
	// AnnotationOrigin stands on every delivered object: "<space>/<placement>", or "<space>/" where
	// no Placement decided.
	AnnotationOrigin = "skerry.dev/origin"
	// AnnotationSpaceUID stands on every delivered Namespace: the UID of the Space that it belongs
	// to.
	AnnotationSpaceUID = "skerry.dev/space-uid"
	// AnnotationNamespacePrefix stands on all that is delivered from a space with a
	// namespaceMapping: the prefix of its namespaces at sites.
	AnnotationNamespacePrefix = "skerry.dev/namespace-prefix"
	// AnnotationOriginUID stands on every delivered object: the UID of the source object.
	AnnotationOriginUID = "skerry.dev/origin-uid"
	// AnnotationSync stands on delivered objects: the SyncPolicy of the Placement that decided, as
	// JSON without what is the default. A relay hands on what its parent wrote, unless a Placement
	// of its own says otherwise.
	AnnotationSync = "skerry.dev/sync"
	// AnnotationPodAPI on a ServiceAccount, a Namespace or a pod template says which API the pods
	// use by their own: Space, Target or None.
	AnnotationPodAPI = "skerry.dev/pod-api"
	// AnnotationSpaceAPI on a Job or a Pod, which cannot change later, says that it was given the API
	// of its space when it was made, as which ServiceAccount. Other workloads have it only where they
	// are delivered.
	AnnotationSpaceAPI = "skerry.dev/space-api"
	// AnnotationPodAPIUsed on a workload says which API its pods use and why, where that is decided:
	// "Space: ServiceAccount op is bound to rights in this space".
	AnnotationPodAPIUsed = "skerry.dev/pod-api-used"
	// AnnotationKey on a SyncTarget is the SHA-256, in hex, of the key that it joined with. Without
	// it any site may join under the name.
	AnnotationKey = "skerry.dev/key"
	// AnnotationRevoked on a SyncTarget lists, with commas, the keys that are never let in again,
	// the newest first.
	AnnotationRevoked = "skerry.dev/revoked-keys"
	// FinalizerDetach keeps a SyncTarget whose detachPolicy is Clean until the target is empty.
	FinalizerDetach = "skerry.dev/detach"
	// AnnotationAccept on a SyncTarget is an admin's word that it may do what status.held says: the
	// value of status.held.accept.
	AnnotationAccept = "skerry.dev/accept"
	// AnnotationEnded stands on a Job or a Pod that has run to its end, as it is delivered: a site
	// that has lost its memory does not run it again.
	AnnotationEnded = "skerry.dev/ended"
	// AnnotationLeft stands on a Namespace: the SyncTargets that its objects have left. What the
	// annotations of an object say of them is old.
	AnnotationLeft = "skerry.dev/left"
	// AnnotationMove stands on a Namespace or an object whose decision is a record of its own,
	// while it moves or after its move was given up: a MoveRecord as JSON. Only the center writes
	// it. A Placement has it in its status.
	AnnotationMove = "skerry.dev/move"
	// AnnotationUndecided stands, as "true", on an object whose own wish has come or gone, until
	// who decides now has decided: what AnnotationTargets says is from before. Where a wish came
	// and it is known where the object is, AnnotationTargets says so instead.
	AnnotationUndecided = "skerry.dev/undecided"
	// AnnotationRefused stands on an object of a kind without conditions while a target refuses it:
	// reason and message as JSON. Only the center writes it; a relay's agent reports it to the
	// parent.
	AnnotationRefused = "skerry.dev/refused"
	// AnnotationUnreachable stands on an object of a kind without conditions while one of its
	// targets is not heard of, or its cluster does not answer: since when, as RFC 3339. Only the
	// center writes it.
	AnnotationUnreachable = "skerry.dev/unreachable-since"
	// AnnotationAllocated stands on a Service or a claim: which of its fields hold what its target
	// has chosen, an Allocated as JSON. What else they hold is the user's wish.
	AnnotationAllocated = "skerry.dev/allocated"
	// AnnotationCreator stands on a Space: the user who made it, and who is its admin. It never
	// changes.
	AnnotationCreator = "skerry.dev/creator"
	// AnnotationShared stands, as "true", on a CustomResourceDefinition whose space agrees that
	// other spaces are served with it (Space.spec.apis).
	AnnotationShared = "skerry.dev/shared"
	// AnnotationImport comes with an object that is imported and is not stored: who the object was,
	// an Identity as JSON. Only admins of the center may send it. On a Space it is the id of the
	// export that is being imported, until that is done.
	AnnotationImport = "skerry.dev/import"
	// AnnotationReported is the prefix of all annotations of mirrors.
	AnnotationReported = "skerry.dev/reported-"
	// AnnotationOfferedBy stands on classes that a space shows because targets have them: their names
	// with commas between them, or how many when they are more than 8. AnnotationOffersDiffer names
	// those of them that have another class of this name than is shown.
	AnnotationOfferedBy    = "skerry.dev/offered-by"
	AnnotationOffersDiffer = "skerry.dev/offers-differ"
	// AnnotationReportedFrom stands on objects of a space that only mirror what a target reported
	// (Pods): the SyncTarget's name. They are never placed.
	AnnotationReportedFrom = "skerry.dev/reported-from"
	// AnnotationReportedCreation comes with a mirror that the center writes and is not stored: when
	// the Pod was created at its target.
	AnnotationReportedCreation = "skerry.dev/reported-creation"
)

// CenterAnnotations returns the annotations that say what a center has decided about an object, and
// what became of it. Only the center writes them. Another center that gets the object decides again.
func CenterAnnotations() []string {
	return []string{
		AnnotationTargets,
		AnnotationSync,
		AnnotationMove,
		AnnotationUndecided,
		AnnotationLeft,
		AnnotationRefused,
		AnnotationUnreachable,
		AnnotationAllocated,
		AnnotationSpaceAPI,
		AnnotationPodAPIUsed,
	}
}

// Condition types that the center writes.
const (
	ConditionReady       = "Ready"
	ConditionDeleting    = "Deleting"
	ConditionWithinQuota = "WithinQuota"
	ConditionDetaching   = "Detaching"
	ConditionConnected   = "Connected"
	ConditionSynced      = "Synced"
	// ReasonSilent is the reason of Connected while the session is open and nothing is heard.
	ReasonSilent = "Silent"
	// ConditionUnique is False while two agents with the identity of a SyncTarget take turns.
	ConditionUnique = "Unique"
	// ConditionWithinBudget says whether the link of a SyncTarget has bytes left today.
	ConditionWithinBudget = "WithinBudget"
	// ConditionReportsKept is False while a target reports more than the center keeps of one.
	ConditionReportsKept = "ReportsKept"
	// ConditionSubtreeHealthy says of a relay whether all sites below it are as they should be.
	ConditionSubtreeHealthy = "SubtreeHealthy"
	ConditionScheduled      = "Scheduled"
	ConditionAvailable      = "Available"
	ConditionMoving         = "Moving"
	ConditionConflict       = "Conflict"
	ConditionProgressing    = "Progressing"
	// What a site says of itself in the status of its SyncTarget.
	ConditionCenterTrusted    = "CenterTrusted"
	ConditionClockInSync      = "ClockInSync"
	ConditionCertificateValid = "CertificateValid"
	ConditionTargetReachable  = "TargetReachable"
	ConditionStoreHealthy     = "StoreHealthy"
	ConditionClusterUnchanged = "ClusterUnchanged"
	// ConditionObjectSynced and ConditionObjectMoving are written into status.conditions of
	// built-in kinds, hence the prefix.
	ConditionObjectSynced    = "skerry.dev/Synced"
	ConditionObjectMoving    = "skerry.dev/Moving"
	ConditionObjectScheduled = "skerry.dev/Scheduled"
	// ConditionObjectReachable is False while a target of the object is not heard of, or its
	// cluster does not answer: the status is old then, not wrong.
	ConditionObjectReachable = "skerry.dev/Reachable"
)
