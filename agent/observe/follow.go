package observe

import (
	"slices"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// resource is a kind without its version: objects of one kind that were applied at two versions are
// watched once.
type resource struct{ group, plural string }

// watchKey names one watch: a resource on one view of the target. The objects that Upsyncs select have
// a watch of their own, of their metadata.
type watchKey struct {
	view     string
	resource resource
	born     bool
}

// The resources that lead from a Pod to the placed object that it belongs to.
var (
	podResource        = resource{"", "pods"}
	replicaSetResource = resource{"apps", "replicasets"}
	jobResource        = resource{"batch", "jobs"}
	revisionResource   = resource{"apps", "controllerrevisions"}
	claimResource      = resource{"", "persistentvolumeclaims"}
	eventResource      = resource{"", "events"}
	sliceResource      = resource{"discovery.k8s.io", "endpointslices"}
	deviceResource     = resource{"resource.k8s.io", "resourceclaims"}
)

// followed returns the resources that are watched for an object: its Pods, what leads to them, and
// its history; of a Service the addresses behind it. Every target serves all of them at version v1.
func followed(k store.Key) []resource {
	if k.IsService() || k.Group == "" && k.Resource == "endpoints" {
		return []resource{sliceResource}
	}
	if !ownsPods(k) {
		return nil
	}
	out := []resource{podResource, replicaSetResource, jobResource}
	if k.Group == "apps" && (k.Resource == "statefulsets" || k.Resource == "daemonsets") {
		out = append(out, revisionResource)
	}
	return out
}

// ownsPods reports whether an object of this kind may own Pods. A custom resource may.
func ownsPods(k store.Key) bool {
	switch k.Group {
	case "apps", "batch":
		return true
	case "",
		"rbac.authorization.k8s.io",
		"networking.k8s.io",
		"storage.k8s.io",
		"policy",
		"autoscaling",
		"scheduling.k8s.io",
		"apiextensions.k8s.io",
		"discovery.k8s.io",
		"admissionregistration.k8s.io",
		"coordination.k8s.io",
		"node.k8s.io":
		return k == store.Key{Space: k.Space, Resource: "replicationcontrollers", Namespace: k.Namespace, Name: k.Name}
	default:
		return true
	}
}

// withoutStatus reports whether only the existence of a kind is observed, so that its content never
// crosses the wire.
func withoutStatus(r resource) bool {
	switch r.group {
	case "":
		return r.plural == "configmaps" || r.plural == "secrets" || r.plural == "serviceaccounts" ||
			r.plural == "namespaces"
	case "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "storage.k8s.io", "scheduling.k8s.io",
		"apiextensions.k8s.io":
		return true
	case "networking.k8s.io":
		return r.plural == "networkpolicies"
	case "apps":
		return r.plural == "controllerrevisions"
	default:
		return false
	}
}

func (o *Observer) watchKeyOf(k store.Key, r resource) (watchKey, bool) {
	client, err := o.Clients.For(k.Space)
	if err != nil {
		o.Log.Error("object not observed", "key", k, "err", err)
		return watchKey{}, false
	}
	return watchKey{view: client.ViewID(), resource: r}, true
}

// followLocked makes sure that the resource of an object is watched, and what leads to its Pods.
func (o *Observer) followLocked(k store.Key, r inventory.Record) {
	rec := o.recordLocked(k)
	var body []byte
	if ownsPods(k) || (resource{k.Group, k.Resource}) == podResource {
		body = o.Desired(k)
	}
	o.aloneLocked(k, rec, body)
	o.followKeptLocked(k, r)
	if rec.counted != nil || r.UID == "" {
		o.followClaimsLocked(k, rec, r, body)
		o.followDevicesLocked(k, rec, body)
		return
	}
	own := resource{k.Group, k.Resource}
	w, ok := o.watchKeyOf(k, own)
	if !ok {
		return
	}
	rec.counted = &w
	o.countLocked(w, k, target.Of(k, r.APIVersion).Version, withoutStatus(own))
	if !withoutStatus(own) {
		o.countLocked(watchKey{view: w.view, resource: eventResource}, k, "v1", false)
	}
	for _, res := range followed(k) {
		o.countLocked(watchKey{view: w.view, resource: res}, k, "v1", false)
	}
	o.followClaimsLocked(k, rec, r, body)
	o.followDevicesLocked(k, rec, body)
}

// countLocked adds one to a watch and starts it with the first.
func (o *Observer) countLocked(key watchKey, k store.Key, version string, metadataOnly bool) {
	o.counts[key]++
	w := o.watchers[key]
	if w != nil && (metadataOnly || !w.listing.MetadataOnly) || o.start == nil {
		return
	}
	if w != nil {
		w.stop() // it sees too little
	}
	client, err := o.Clients.For(k.Space)
	if err != nil {
		o.Log.Error("resource not observed", "resource", key.resource.plural, "err", err)
		return
	}
	w = &watcher{
		o: o, key: key, client: client, nudged: make(chan struct{}, 1),
		listing: target.Listing{
			Resource: target.Resource{
				Group:   key.resource.group,
				Version: version,
				Plural:  key.resource.plural,
			}, MetadataOnly: metadataOnly,
		},
	}
	o.watchers[key] = w
	if key.resource == eventResource {
		w.listing.FieldSelector = "type=Warning"
		if !o.complete() {
			o.afterwards = append(o.afterwards, w)
			return
		}
	}
	o.start(w)
}

// stopFollowingLocked takes an object out of the count of its watches, which end with the last.
func (o *Observer) stopFollowingLocked(k store.Key) {
	rec := o.records.Get(k)
	if rec == nil || rec.counted == nil {
		return
	}
	w := *rec.counted
	rec.counted = nil
	if o.claimers[k] != "" {
		delete(o.claimers, k)
		o.discountLocked(watchKey{view: w.view, resource: claimResource})
	}
	if view := o.keepers[k]; view != "" {
		delete(o.keepers, k)
		o.discountLocked(watchKey{view: view, resource: claimResource})
	}
	if view := o.deviceUsers[k]; view != "" {
		delete(o.deviceUsers, k)
		o.discountLocked(watchKey{view: view, resource: deviceResource})
	}
	o.discountLocked(w)
	if !withoutStatus(w.resource) {
		o.discountLocked(watchKey{view: w.view, resource: eventResource})
	}
	for _, res := range followed(k) {
		o.discountLocked(watchKey{view: w.view, resource: res})
	}
}

// discountLocked takes one from a watch and ends it with the last. What the watch knew of others is
// dropped.
func (o *Observer) discountLocked(key watchKey) {
	o.counts[key]--
	if o.counts[key] > 0 {
		return
	}
	delete(o.counts, key)
	if w := o.watchers[key]; w != nil {
		o.afterwards = slices.DeleteFunc(o.afterwards, func(other *watcher) bool { return other == w })
		if w.stop != nil {
			w.stop()
		}
		delete(o.watchers, key)
		o.settledLocked(key)
	}
	for uid, p := range o.owners.parents.All() {
		if p.watch == key {
			o.owners.parents.Delete(uid)
		}
	}
	for uid, s := range o.strays.All() {
		if s.watch == key {
			o.strays.Delete(uid)
		}
	}
	for uid, above := range o.owners.waits.All() {
		if o.owners.waiting.Get(above)[uid].watch == key {
			o.owners.unwait(uid)
		}
	}
}
