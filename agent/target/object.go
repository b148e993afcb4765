package target

import (
	"encoding/json"
	"strconv"
	"strings"

	"skerry.dev/skerry/store"
)

// Annotations and labels of delivered objects. The center's names for them are in its own API
// package, which an agent does not link.
const (
	// AnnotationOrigin is "<space>/<placement>".
	AnnotationOrigin = "skerry.dev/origin"
	// AnnotationOriginUID is the UID of the source object.
	AnnotationOriginUID = "skerry.dev/origin-uid"
	// AnnotationSync is how the object is kept: compact JSON with what differs from the default.
	AnnotationSync = "skerry.dev/sync"
	// AnnotationEnded stands on a Job or a Pod that has run to its end, as far as the parent knows.
	AnnotationEnded = "skerry.dev/ended"
	// AnnotationSpaceUID is the UID of the space that a Namespace belongs to.
	AnnotationSpaceUID = "skerry.dev/space-uid"
	// AnnotationNamespacePrefix is the Mapping of the space, on all that comes from one which has
	// it.
	AnnotationNamespacePrefix = "skerry.dev/namespace-prefix"
	// AnnotationExisted stands on a Namespace that was there before a space took it: it is never
	// deleted from here.
	AnnotationExisted = "skerry.dev/existed"
	// AnnotationOrphanOf is the space whose object owned this one, and was deleted without it.
	AnnotationOrphanOf = "skerry.dev/orphan-of"
	// AnnotationClaimOf stands on a claim that a template made, once its StatefulSet was deleted: the
	// UID that the claim's Namespace has in its space. The claim is still reported to that space.
	AnnotationClaimOf = "skerry.dev/claim-of"
	// AnnotationMoverClaim stands on a Deployment that copies the volume of a claim which templates make: a
	// store.MoverClaim as JSON.
	AnnotationMoverClaim = store.AnnotationMoverClaim
	// AnnotationKeepUntil stands on such a Deployment once it only keeps the volume that was left, until that time.
	AnnotationKeepUntil = "skerry.dev/keep-until"
	// AnnotationReach on a Service, as ReachSpace, has its name answer wherever its space runs Pods.
	AnnotationReach = "skerry.dev/reach"
	// AnnotationHosts on such a Service are the host names of the Pods that it governs, as "db-{0..2},arbiter-{0..0}".
	AnnotationHosts = "skerry.dev/hosts"
	// AnnotationMembers on such a Service are the spaces whose Pods may call it besides those of its own, and their UIDs,
	// as "desk=UID,shop=UID".
	AnnotationMembers = "skerry.dev/members"
	// AnnotationEntered on such a Service, as "true", says that an Ingress or a route sends callers to it.
	AnnotationEntered = "skerry.dev/entered"
	// LabelLedAway is a label that no Pod has. A Service whose callers are led to another site selects by it, too.
	LabelLedAway = "skerry.dev/led-away"
	// ReachSpace is the value of AnnotationReach.
	ReachSpace = "Space"
	// AnnotationReportedFrom stands on an object of a relay that one of its own targets reported.
	AnnotationReportedFrom = "skerry.dev/reported-from"
	// AnnotationUpsync stands on those of them that come by an Upsync: its name.
	AnnotationUpsync = "skerry.dev/upsync"
	// LabelSite is the UID of the writing agent's SyncTarget. An agent puts it on what it writes,
	// so that it can list its own objects.
	LabelSite = "skerry.dev/site"
	// AnnotationRefused stands on an object of a relay while one of its own targets refuses it.
	AnnotationRefused = "skerry.dev/refused"
	// AnnotationAltered stands on an object of a relay while one of its own targets alters what is
	// applied of it.
	AnnotationAltered = "skerry.dev/altered"
	// KeyPrefix begins the keys of all labels and annotations that an agent or its parent writes on a
	// delivered object.
	KeyPrefix = "skerry.dev/"
	// FieldManager is the field manager of every write.
	FieldManager = "skerry"
)

// Object is the part of an API object that an agent reads. The rest stays JSON.
type Object struct {
	APIVersion string          `json:"apiVersion,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	Metadata   Metadata        `json:"metadata"`
	Spec       json.RawMessage `json:"spec,omitempty"`
	Status     json.RawMessage `json:"status,omitempty"`
	// Data and Ordinal are what a ControllerRevision has instead of a spec. In a custom resource
	// these fields may be anything.
	Data    json.RawMessage `json:"data,omitempty"`
	Ordinal json.RawMessage `json:"revision,omitempty"`
	EventBody
	SliceBody
}

// SliceBody is what an EndpointSlice has instead of a spec. In a custom resource these fields may be
// anything.
type SliceBody struct {
	AddressType json.RawMessage `json:"addressType,omitempty"`
	Endpoints   json.RawMessage `json:"endpoints,omitempty"`
	Ports       json.RawMessage `json:"ports,omitempty"`
}

// Metadata is the part of an object's metadata that an agent reads.
type Metadata struct {
	Name              string            `json:"name,omitempty"`
	GenerateName      string            `json:"generateName,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	CreationTimestamp string            `json:"creationTimestamp,omitempty"`
	DeletionTimestamp string            `json:"deletionTimestamp,omitempty"`
	DeletionGrace     *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	Finalizers        []string          `json:"finalizers,omitempty"`
	OwnerReferences   []Owner           `json:"ownerReferences,omitempty"`
	ManagedFields     []Managed         `json:"managedFields,omitempty"`
}

// Owner is an owner reference.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller,omitempty"`
	// BlockOwnerDeletion keeps the owner until this object is gone, in a foreground deletion.
	BlockOwnerDeletion bool `json:"blockOwnerDeletion,omitempty"`
}

// OriginSpace is the space that the object was delivered from, empty when it is not a delivered
// one.
func (o *Object) OriginSpace() string {
	space, _, _ := strings.Cut(o.Metadata.Annotations[AnnotationOrigin], "/")
	return space
}

// IsOf reports whether a Namespace is of the space that has this name and this UID. One without a UID
// is of none.
func (o *Object) IsOf(space, uid string) bool {
	return uid != "" && o.OriginSpace() == space && o.Metadata.Annotations[AnnotationSpaceUID] == uid
}

// OriginUID is the UID of the source object, empty when the object is not a delivered one.
func (o *Object) OriginUID() string { return o.Metadata.Annotations[AnnotationOriginUID] }

// ControllerUID is the UID of the owner that controls the object, empty when there is none.
func (o *Object) ControllerUID() string {
	for _, owner := range o.Metadata.OwnerReferences {
		if owner.Controller {
			return owner.UID
		}
	}
	return ""
}

// Revision is the resourceVersion as a number, which an API server makes comparable within one
// resource; 0 when it is none.
func (o *Object) Revision() uint64 {
	n, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// KeyIn returns the key that an object of a resource has in a space.
func (r Resource) KeyIn(space string, o *Object) store.Key {
	return store.Key{
		Space:     space,
		Group:     r.Group,
		Resource:  r.Plural,
		Namespace: o.Metadata.Namespace,
		Name:      o.Metadata.Name,
	}
}
