package observe

import (
	"encoding/json"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// A claim that a template made has no owner at the target, and outlives its StatefulSet. From then
// on it belongs to its Namespace: it is reported until somebody deletes it, or until a StatefulSet
// of that name takes it again. A mark says so at the target (target.AnnotationClaimOf), which
// package apply writes before it deletes the StatefulSet. At a relay the claim is a mirror, which
// only the relay itself writes, and needs no mark.

// namespaceOf returns the key of the Namespace of an object in a space.
func namespaceOf(k store.Key) store.Key {
	return store.Key{Space: k.Space, Resource: "namespaces", Name: k.Namespace}
}

func isNamespace(k store.Key) bool { return k.Class() == store.ClassNamespace }

// expectClaimsLocked records durably that a StatefulSet has made claims in its Namespace, and makes
// sure that these are watched for as long as the Namespace is placed.
func (o *Observer) expectClaimsLocked(set store.Key) {
	k := namespaceOf(set)
	o.Inventory.Update(k, func(r inventory.Record) (inventory.Record, bool) {
		if r.Claims {
			return r, false
		}
		r.Claims = true
		return r, true
	})
	if r, ok := o.Inventory.Get(k); ok {
		o.followKeptLocked(k, r)
	}
}

// followKeptLocked makes sure that claims are watched for a Namespace in which a template made some.
func (o *Observer) followKeptLocked(k store.Key, r inventory.Record) {
	if !r.Claims || r.UID == "" || o.keepers[k] != "" {
		return
	}
	w, ok := o.watchKeyOf(k, claimResource)
	if !ok {
		return
	}
	o.keepers[k] = w.view
	o.countLocked(w, k, "v1", false)
}

// keptInLocked returns the placed Namespace that a claim without an owner belongs to, because the
// StatefulSet is gone that made it.
func (o *Observer) keptInLocked(w watchKey, live *target.Object) (store.Key, bool) {
	notes := live.Metadata.Annotations
	if notes[target.AnnotationClaimOf] == "" && notes[target.AnnotationReportedFrom] == "" ||
		live.OriginUID() != "" {
		return store.Key{}, false
	}
	for k, view := range o.keepers {
		r, known := o.Inventory.Get(k)
		if view != w.view || !known ||
			o.Clients.KeyThere(target.Mapping(r.Prefix), k).Name != live.Metadata.Namespace {
			continue
		}
		if notes[target.AnnotationClaimOf] == r.OriginUID || notes[target.AnnotationReportedFrom] != "" {
			return k, true
		}
	}
	return store.Key{}, false
}

// refetchKeptLocked reads the claims of a Namespace again that belong to nothing else: a StatefulSet
// has come that may take them.
func (o *Observer) refetchKeptLocked(set store.Key) {
	namespace := namespaceOf(set)
	for _, rec := range o.associated.All() {
		if *rec.owner != namespace || rec.key.Namespace != set.Namespace {
			continue
		}
		r, known := o.Inventory.Get(namespace)
		if w, ok := o.watchKeyOf(namespace, claimResource); ok && known {
			rec.revision = 0
			at := o.Clients.KeyThere(target.Mapping(r.Prefix), rec.key)
			o.fetch.add(place{watch: w, namespace: at.Namespace, name: at.Name})
		}
	}
}

// keepClaimLocked has a claim belong to its Namespace from now on, because its StatefulSet is
// deleted. It reports false for everything else, and for claims that the target deletes, too.
func (o *Observer) keepClaimLocked(rec *record, deleted bool) bool {
	if !rec.loose || !deleted {
		return false
	}
	namespace := namespaceOf(rec.key)
	r, ok := o.Inventory.Get(namespace)
	if !ok || o.keepers[namespace] == "" {
		return false
	}
	object, err := o.codec.Decode(nil, rec.object, maxReported)
	if err != nil {
		o.Log.Error("claim not kept", "key", rec.key, "err", err)
		return false
	}
	var out reported
	if err := json.Unmarshal(object, &out); err != nil {
		o.Log.Error("claim not kept", "key", rec.key, "err", err)
		return false
	}
	out.Metadata.OwnerReferences = []target.Owner{namespaceOwner(namespace.Name, r)}
	if object, err = json.Marshal(out); err != nil {
		o.Log.Error("claim not kept", "key", rec.key, "err", err)
		return false
	}
	rec.object, rec.owner, rec.originUID = o.codec.Encode(nil, object), o.sharedLocked(namespace), r.OriginUID
	o.publishLocked(rec.key)
	return true
}

// disownClaimLocked drops the report of a claim that belonged to a Namespace which is another now.
func (o *Observer) disownClaimLocked(uid string) {
	if rec := o.associated.Get(uid); rec != nil {
		o.associated.Delete(uid)
		o.dropLocked(rec.key)
	}
}

// looseOwners are the owners by which a claim without an owner is reported: the StatefulSet, which
// does not control it, and its Namespace, to which it belongs after that. The parent shows neither.
func (o *Observer) looseOwners(owner store.Key, placed inventory.Record) []target.Owner {
	if isNamespace(owner) {
		return []target.Owner{namespaceOwner(owner.Name, placed)}
	}
	out := []target.Owner{{
		APIVersion: placed.APIVersion, Kind: placed.Kind, Name: owner.Name, UID: placed.OriginUID,
	}}
	if r, ok := o.Inventory.Get(namespaceOf(owner)); ok {
		out = append(out, namespaceOwner(owner.Namespace, r))
	}
	return out
}

func namespaceOwner(name string, r inventory.Record) target.Owner {
	return target.Owner{APIVersion: "v1", Kind: "Namespace", Name: name, UID: r.OriginUID}
}
