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
	// Location, or TargetNone.
	LabelTarget = "skerry.dev/target"
	// TargetNone as a LabelTarget is the wish to be nowhere: what runs is removed.
	TargetNone = "none"
	// LabelUser stands on the account and on the bindings that `skerry space` made for a user: the
	// user's name, or a digest of a name that is no label value.
	LabelUser = "skerry.dev/user"
	// AnnotationRenewable stands, as "true", on the account of a user who may request tokens for it
	// themselves.
	AnnotationRenewable = "skerry.dev/renewable"
	// AnnotationTargets tells where an object is: SyncTarget names joined by commas. Only the
	// center writes it.
	AnnotationTargets = "skerry.dev/targets"
	// AnnotationUnit stands on every object that is placed: the UID of the Namespace, the Placement or
	// the object that it is with, see Binding. UnitSelf stands for the object's own. Only the center
	// writes it, and reads nothing else of where the object is.
	AnnotationUnit = "skerry.dev/unit"
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
	// AnnotationPlacement on a CustomResourceDefinition, as PlacementNone, keeps the definition and
	// its custom resources in the space: their controller is there.
	AnnotationPlacement = "skerry.dev/placement"
	// AnnotationConditions on a CustomResourceDefinition says which value of conditions of its custom
	// resources is good: "Healthy=True,OutOfSync=False". Of an object on several targets the other
	// value is shown where one of them has it.
	AnnotationConditions = "skerry.dev/conditions"
	// AnnotationProperty is the prefix of annotations of a SyncTarget that are its properties, for
	// Customizers: texts that are no label values, such as the address of a registry. Admins write
	// them.
	AnnotationProperty = "property.skerry.dev/"
	// AnnotationHoldReleases on a SyncTarget holds releases there: the target keeps those that it has and
	// gets no other while the annotation is there. Its value says why, for people. The file hold-releases
	// in the agent's data directory does the same from the site. Placements with rollout.type All have no
	// releases and are not held.
	AnnotationHoldReleases = "skerry.dev/hold-releases"
	// AnnotationCustomizedBy stands on objects at a site: the names of the Customizers that changed
	// them, with commas between them.
	AnnotationCustomizedBy = "skerry.dev/customized-by"
	// AnnotationCustomizedTemplate stands on workloads at a site, and on their ReplicaSets and
	// ControllerRevisions: the fields of their Pods that Customizers changed, as JSON. By it the space shows
	// of its history what it had itself.
	AnnotationCustomizedTemplate = "skerry.dev/customized-template"
	// AnnotationKey on a SyncTarget is the SHA-256, in hex, of the key that it joined with. Without
	// it any site may join under the name.
	AnnotationKey = "skerry.dev/key"
	// AnnotationRevoked on a SyncTarget lists, with commas, the keys that are never let in again,
	// the newest first.
	AnnotationRevoked = "skerry.dev/revoked-keys"
	// AnnotationRenameTo on a SyncTarget is the name that an admin wishes it to have.
	AnnotationRenameTo = "skerry.dev/rename-to"
	// AnnotationFormerNames on a SyncTarget lists, with commas, the names that it had, the newest first.
	// Its agent is known by the certificate that has one of them.
	AnnotationFormerNames = "skerry.dev/former-names"
	// AnnotationRenames on a SyncTarget counts its renames: of two names of one SyncTarget, the one with
	// more of them is the present one.
	AnnotationRenames = "skerry.dev/renames"
	// FinalizerDetach keeps a SyncTarget whose detachPolicy is Clean or Discard until the target is empty.
	FinalizerDetach = "skerry.dev/detach"
	// AnnotationAccept on a SyncTarget is an admin's word that it may do what status.held says: the
	// value of status.held.accept.
	AnnotationAccept = "skerry.dev/accept"
	// AnnotationEnded stands on a Job or a Pod that has run to its end, as it is delivered: a site
	// that has lost its memory does not run it again.
	AnnotationEnded = "skerry.dev/ended"
	// AnnotationEvict on a Placement, a Namespace or an object with a wish of its own names, with
	// commas, the SyncTargets that it is to leave, as if they were drained for it alone. It does not
	// travel.
	AnnotationEvict = "skerry.dev/evict"
	// AnnotationDependents stands on a Namespace: the SyncTargets, with commas between them, where it
	// stays for what a workload owned that was deleted with orphan. The center writes it; a user who
	// takes it off ends what lives on there. It does not travel.
	AnnotationDependents = "skerry.dev/dependents"
	// AnnotationOpenUntil stands on a Service or an Ingress that reaches its space while it stays at SyncTargets that it
	// has left, for callers who know its address there: until when, as a JSON object of times by the name of the
	// SyncTarget. The center writes it; a user who takes it off ends that. It does not travel.
	AnnotationOpenUntil = "skerry.dev/open-until"
	// AnnotationHook stands on a Job that is a hook of a move: which record it is of, the target that is
	// to be left and the attempt. Only the center writes it, and it does not travel.
	AnnotationHook = "skerry.dev/hook"
	// AnnotationRefused stands on an object of a kind without conditions while a target refuses it:
	// reason and message as JSON. Only the center writes it; a relay's agent reports it to the
	// parent.
	AnnotationRefused = "skerry.dev/refused"
	// AnnotationAltered stands on an object of a kind without conditions while a target does not keep
	// all that was applied of it: which fields its admission or schema took off or changed. Only the
	// center writes it; a relay's agent reports it to the parent.
	AnnotationAltered = "skerry.dev/altered"
	// AnnotationUnreachable stands on an object of a kind without conditions while one of its
	// targets is not heard of, or its cluster does not answer: since when, as RFC 3339. Only the
	// center writes it.
	AnnotationUnreachable = "skerry.dev/unreachable-since"
	// AnnotationAllocated stands on a Service, a claim or a Pod: which of its fields hold what its target
	// has chosen, an Allocated as JSON. What else they hold is the user's wish.
	AnnotationAllocated = "skerry.dev/allocated"
	// AnnotationSpaceOwners stands on what was born at a site and has owners in the space: the UIDs of
	// those that the site does not know, with commas between them. Only the center writes it.
	AnnotationSpaceOwners = "skerry.dev/space-owners"
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
	// AnnotationUpsync stands on those of them that Placement.spec.upsync brings: the name of the
	// Placement.
	AnnotationUpsync = "skerry.dev/upsync"
	// AnnotationReportedCreation comes with a mirror that the center writes and is not stored: when
	// the Pod was created at its target.
	AnnotationReportedCreation = "skerry.dev/reported-creation"
)

// TaintDrain is the key of the taint that `skerry target drain` sets, with the effect NoExecute. It
// is an admin's will: more than half of all targets may be drained at once.
const TaintDrain = "skerry.dev/drain"

// TaintOutOfService is the key of the taint that `skerry target out-of-service` sets, with the effect
// NoExecute: an admin's word that nothing runs at the site any more. It is what
// node.kubernetes.io/out-of-service is for a node: what must not run twice starts elsewhere without
// waiting for the site.
const TaintOutOfService = "skerry.dev/out-of-service"

// UnitSelf is the value of AnnotationUnit on an object that decides for itself.
const UnitSelf = "self"

// PlacementNone is the value of AnnotationPlacement.
const PlacementNone = "None"

// CenterAnnotations returns the annotations that say what a center has decided about an object, and
// what became of it. Only the center writes them. Another center that gets the object decides again.
func CenterAnnotations() []string {
	return []string{
		AnnotationTargets,
		AnnotationSync,
		AnnotationUnit,
		AnnotationRefused,
		AnnotationUnreachable,
		AnnotationAltered,
		AnnotationAllocated,
		AnnotationSpaceAPI,
		AnnotationPodAPIUsed,
		AnnotationHook,
		AnnotationMover,
		AnnotationStandby,
		AnnotationDependents,
		AnnotationOpenUntil,
		AnnotationMembers,
		AnnotationExporters,
	}
}

// Condition types that the center writes.
const (

	// ConditionReady says of a Space whether it is served, and of a StatusCollector whether its spec
	// is understood; the message names the field that is not.
	ConditionReady = "Ready"
	// ConditionDeleting is True while a Space is being deleted; its message says what is left.
	ConditionDeleting = "Deleting"
	// ConditionWithinQuota is False while a Space holds as much as its quota allows.
	ConditionWithinQuota = "WithinQuota"
	// ConditionDetaching is True while a SyncTarget is being removed; its message says what is left.
	ConditionDetaching = "Detaching"
	// ConditionRenaming is False while a SyncTarget cannot get the name that is wished; its message says
	// why.
	ConditionRenaming = "Renaming"
	// ConditionConnected says whether a SyncTarget has a session with the center and is heard.
	ConditionConnected = "Connected"
	// ConditionSynced says of a SyncTarget or a Placement whether all that is desired is applied.
	ConditionSynced = "Synced"
	// ConditionTakesReleases is False while a target is held: it keeps the releases that it has and gets
	// no other. The reason is HeldAtSite, or HeldByAdmin for the annotation skerry.dev/hold-releases. It
	// does not concern Placements with rollout.type All, which have no releases.
	ConditionTakesReleases = "TakesReleases"
	// ReasonHeldAtSite is the reason of TakesReleases while the site itself holds releases.
	ReasonHeldAtSite = "HeldAtSite"
	// ReasonHeldByAdmin is the reason of TakesReleases while the annotation of the SyncTarget holds them.
	ReasonHeldByAdmin = "HeldByAdmin"
	// ReasonNotEmpty is the reason of Drained while all has left but what the target keeps, such as a
	// Namespace with claims that were made there.
	ReasonNotEmpty = "NotEmpty"
	// ReasonSilent is the reason of Connected while the session is open and nothing is heard.
	ReasonSilent = "Silent"
	// ConditionUnique is False while two agents with the identity of a SyncTarget take turns.
	ConditionUnique = "Unique"
	// ConditionWithinBudget says whether the link of a SyncTarget has bytes left today.
	ConditionWithinBudget = "WithinBudget"
	// ConditionReportsKept is False while a target reports more than the center keeps of one.
	ConditionReportsKept = "ReportsKept"
	// ConditionWithinBounds says whether what is placed on a SyncTarget is within spec.bounds.
	ConditionWithinBounds = "WithinBounds"
	// ConditionDrained says of a SyncTarget that is drained whether everything has left it; its
	// message says what is left and why.
	ConditionDrained = "Drained"
	// ConditionCapacityKnown is False while the agent may not read nodes or pods of its cluster.
	ConditionCapacityKnown = "CapacityKnown"
	// ConditionSubtreeHealthy says of a relay whether all sites below it are as they should be.
	ConditionSubtreeHealthy = "SubtreeHealthy"
	// ConditionScheduled says of a Placement whether targets are found for its objects.
	ConditionScheduled = "Scheduled"
	// ConditionAvailable says of a Placement whether its objects are available where they are.
	ConditionAvailable = "Available"
	// ConditionMoving is True of a Placement while its objects move, and False, with the reason, when
	// a move was given up or cannot be made.
	ConditionMoving = "Moving"
	// ConditionUpsynced says of a Placement with upsync whether all that it selects is in the space.
	ConditionUpsynced = "Upsynced"
	// ConditionConflict is True of two Placements of one priority while both select an object. The
	// older one has it.
	ConditionConflict = "Conflict"
	// ConditionValid says of a Customizer whether its targets understand it, ConditionApplied whether
	// all of them have the objects that it selects as it says.
	ConditionValid   = "Valid"
	ConditionApplied = "Applied"
	// ConditionProgressing says of a Placement whether a change of its objects is under way.
	ConditionProgressing = "Progressing"

	// ConditionCenterTrusted is False while a site does not obey its center, which was restored,
	// wiped or replaced. This and the next five are what a site says of itself in its SyncTarget.
	ConditionCenterTrusted = "CenterTrusted"
	// ConditionClockInSync is False while a site's clock is off from its center's.
	ConditionClockInSync = "ClockInSync"
	// ConditionCertificateValid is False while a site's certificate has expired or is not renewed.
	ConditionCertificateValid = "CertificateValid"
	// ConditionTargetReachable is False while an agent does not reach its cluster.
	ConditionTargetReachable = "TargetReachable"
	// ConditionStoreHealthy is False while an agent cannot write its file.
	ConditionStoreHealthy = "StoreHealthy"
	// ConditionClusterUnchanged is False while an agent finds another cluster than it joined with.
	ConditionClusterUnchanged = "ClusterUnchanged"

	// ConditionVersionAsWished is False while an agent has another version than spec.agentVersion. The reason is
	// Failed where the site's owner has tried to install it.
	ConditionVersionAsWished = "VersionAsWished"

	// ConditionObjectSynced says of an object whether its targets have it as desired.
	ConditionObjectSynced = "skerry.dev/Synced"
	// ConditionObjectMoving is True of an object while it moves, and False, with the reason, when its
	// move was given up or cannot be made.
	ConditionObjectMoving = "skerry.dev/Moving"
	// ConditionReplicated says of a claim, or of a StatefulSet whose templates make some, how old the standby is, and why
	// there is none.
	ConditionReplicated = "skerry.dev/Replicated"
	// ConditionObjectScheduled says of an object whether a target is found for it.
	ConditionObjectScheduled = "skerry.dev/Scheduled"
	// ConditionObjectAltered is True of an object while a target does not keep all that was applied of
	// it: its admission or its schema took fields off, or changed them.
	ConditionObjectAltered = "skerry.dev/Altered"
	// ConditionObjectReachable is False while a target of the object is not heard of, or its
	// cluster does not answer: the status is old then, not wrong.
	ConditionObjectReachable = "skerry.dev/Reachable"
)
