package observe

import (
	"encoding/json"
	"strings"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// associateLocked records what belongs to a placed object: a Pod, a ReplicaSet, a Job, a
// ControllerRevision, an EndpointSlice, a claim of a volume or of devices. Until it is known that it
// does, it waits. All but Pods wait a moment for more of their kind.
func (o *Observer) associateLocked(w watchKey, live *target.Object) {
	controller := live.ControllerUID()
	if controller == "" {
		return
	}
	uid := live.Metadata.UID
	owner, top, ok := o.placedAboveLocked(controller)
	if !ok {
		o.owners.wait(uid, top, place{watch: w, namespace: live.Metadata.Namespace, name: live.Metadata.Name})
		return
	}
	o.belongsLocked(w, live, owner)
}

// belongsLocked records what belongs to a placed object.
func (o *Observer) belongsLocked(w watchKey, live *target.Object, owner store.Key) {
	uid := live.Metadata.UID
	o.owners.unwait(uid)
	source, ok := o.Inventory.Get(owner)
	if !ok || o.comesAloneLocked(owner, w.resource) {
		return // removed at this moment, and what belongs to it with it
	}
	mapping := target.Mapping(source.Prefix)
	k, ok := mapping.KeyHere(
		store.Key{
			Space:     owner.Space,
			Group:     w.resource.group,
			Resource:  w.resource.plural,
			Namespace: live.Metadata.Namespace,
			Name:      live.Metadata.Name,
		},
	)
	if !ok {
		return // what a cluster-scoped object has in a namespace that is not its space's
	}
	if k.Namespace == owner.Namespace {
		k.Namespace = owner.Namespace // one copy of the text
	}
	rec := o.recordLocked(k)
	if rec.uid == uid && live.Revision() != 0 && live.Revision() <= rec.revision {
		return
	}
	if w.resource == sliceResource && !o.admitSliceLocked(owner, uid, place{
		watch: w, namespace: live.Metadata.Namespace, name: live.Metadata.Name,
	}) {
		return
	}
	owners := ownersIn(owner.Name, live, source)
	loose := w.resource == claimResource && live.ControllerUID() == ""
	if loose {
		owners = o.looseOwners(owner, source)
	}
	object, err := reportedObject(k, live, owners, source, o.slices.truncated(owner))
	if err == nil {
		object, err = mapping.BodyHere(k, object)
	}
	if err == nil {
		object, err = asInSpace(k, live.Metadata.Annotations[variant.BaseAnnotation], object)
	}
	if err != nil {
		o.Log.Error("object not reported", "key", k, "err", err)
		return
	}
	if rec.uid != uid {
		o.associated.Delete(rec.uid) // a successor with the same name
	}
	o.associated.Put(uid, rec)
	rec.uid, rec.revision, rec.at, rec.owner, rec.originUID = uid, live.Revision(), time.Now().UnixMilli(), o.sharedLocked(
		owner,
	), source.OriginUID
	rec.loose, rec.object, rec.status = loose, o.codec.Encode(nil, object), nil
	o.shortenLocked(k, rec, object)
	if len(live.Status) > 0 {
		rec.status = o.codec.Encode(nil, live.Status)
	}
	if w.resource != podResource {
		o.holdLocked(k)
	}
	o.publishLocked(k)
	o.appearedLocked(uid)
	for below, at := range o.owners.waiting.Get(uid) { // the claims of a Pod
		o.owners.unwait(below)
		o.fetch.add(at)
	}
}

// reported is an associated object as it is reported: its status travels beside it, and it belongs
// to the source of the placed object.
type reported struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   target.Metadata `json:"metadata"`
	Spec       json.RawMessage `json:"spec,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`     // of a ControllerRevision
	Revision   json.RawMessage `json:"revision,omitempty"` // of a ControllerRevision
	target.SliceBody
}

// ownersIn are the owners by which an object is reported that belongs to a placed one of this name.
func ownersIn(name string, live *target.Object, placed inventory.Record) []target.Owner {
	owner := target.Owner{
		APIVersion: placed.APIVersion,
		Kind:       placed.Kind,
		Name:       name,
		UID:        placed.OriginUID,
		Controller: true,
		// The controllers of a cluster say so, too.
		BlockOwnerDeletion: true,
	}
	return append([]target.Owner{owner}, between(live, placed)...)
}

// reportedObject is what is reported of an object that belongs to a placed one, with these owners. Its
// key has the space's name of the namespace. more says that the target has slices beyond those that
// are reported.
func reportedObject(
	k store.Key,
	live *target.Object,
	owners []target.Owner,
	placed inventory.Record,
	more bool,
) ([]byte, error) {
	m := live.Metadata
	out := reported{
		Spec: live.Spec, Metadata: target.Metadata{
			Name: m.Name, GenerateName: m.GenerateName, Namespace: k.Namespace, Labels: ownLabels(m.Labels, placed),
			Annotations: unmarked(m.Annotations), CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
			DeletionGrace: m.DeletionGrace, OwnerReferences: owners, UID: m.UID,
		},
	}
	switch (resource{k.Group, k.Resource}) {
	case podResource:
		out.APIVersion, out.Kind = "v1", "Pod"
	case claimResource:
		out.APIVersion, out.Kind = "v1", "PersistentVolumeClaim"
	case deviceResource:
		out.APIVersion, out.Kind = "resource.k8s.io/v1", "ResourceClaim"
	case replicaSetResource:
		out.APIVersion, out.Kind = "apps/v1", "ReplicaSet"
	case jobResource:
		out.APIVersion, out.Kind = "batch/v1", "Job"
	case revisionResource:
		out.APIVersion, out.Kind = "apps/v1", "ControllerRevision"
		out.Data, out.Revision = live.Data, live.Ordinal
	case sliceResource:
		out.APIVersion, out.Kind = "discovery.k8s.io/v1", "EndpointSlice"
		out.SliceBody = live.SliceBody
		if said := m.Annotations[store.SlicesTruncated]; said != "" { // by a relay
			out.Metadata.Annotations = setAnnotation(out.Metadata.Annotations, store.SlicesTruncated, said)
		}
		if err := reportedSlice(&out, more); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// between is what controls the object at the target, where that is another than the placed one: the
// parent has it, too, because it is reported.
func between(live *target.Object, placed inventory.Record) []target.Owner {
	for _, owner := range live.Metadata.OwnerReferences {
		if owner.Controller && owner.UID != placed.UID {
			return []target.Owner{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}}
		}
	}
	return nil
}

// unmarked leaves out the annotations of delivered objects, which controllers copy onto what they
// make.
func unmarked(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for name, v := range annotations {
		if !strings.HasPrefix(name, target.KeyPrefix) {
			out[name] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func setAnnotation(annotations map[string]string, name, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	return annotations
}

// refetchAssociatedLocked reads again what belongs to a placed object.
func (o *Observer) refetchAssociatedLocked(owner store.Key, mapping target.Mapping) {
	for _, rec := range o.associated.All() {
		if *rec.owner != owner {
			continue
		}
		k := rec.key
		rec.revision = 0
		if w, ok := o.watchKeyOf(owner, resource{k.Group, k.Resource}); ok {
			o.fetch.add(place{watch: w, namespace: mapping.There(k.Namespace), name: k.Name})
		}
	}
}
