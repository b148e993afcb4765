package observe

import (
	"bytes"
	"strings"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// followClaimsLocked makes sure that claims are watched for a placed object that makes some, and
// looks again at those that were seen before it. The body is nil for what owns no Pods.
func (o *Observer) followClaimsLocked(k store.Key, rec *record, r inventory.Record, body []byte) {
	if o.claimers[k] != "" || rec.counted == nil || !makesClaims(k, body) {
		return
	}
	o.claimers[k] = rec.counted.view
	o.countLocked(watchKey{view: rec.counted.view, resource: claimResource}, k, "v1", false)
	above := claimsOf(rec.counted.view, target.Mapping(r.Prefix).KeyThere(k).Namespace)
	for claim, at := range o.owners.waiting.Get(above) {
		o.owners.unwait(claim)
		o.fetch.add(at)
	}
	o.refetchKeptLocked(k)
}

// makesClaims reports whether an object makes claims: by the templates of a StatefulSet, or by
// ephemeral volumes, which a placed Pod may have itself. A name that reads so in another place costs
// a watch and nothing else.
func makesClaims(k store.Key, body []byte) bool {
	return k.Group == "apps" && k.Resource == "statefulsets" &&
		bytes.Contains(body, []byte(`"volumeClaimTemplates"`)) ||
		bytes.Contains(body, []byte(`"ephemeral"`))
}

// claimsOf stands in the owner graph for whatever may own claims of a namespace by their names.
func claimsOf(view, namespace string) string { return "claims of " + view + " in " + namespace }

// associateClaimLocked records a claim that belongs to a placed object: to one of its Pods, or to a
// StatefulSet, which is no owner of it and gives it its name.
func (o *Observer) associateClaimLocked(w watchKey, live *target.Object) {
	m := live.Metadata
	if controller := live.ControllerUID(); controller != "" {
		o.associateLocked(w, live)
		return
	}
	if rec, ok := o.associated.Find(m.UID); ok &&
		rec.owner != nil && !isNamespace(*rec.owner) { // it had a controller until now, or still has its name
		o.belongsLocked(w, live, *rec.owner)
		return
	}
	owner, ok := o.templateOwnerLocked(w, live)
	if ok {
		o.expectClaimsLocked(owner)
	} else {
		owner, ok = o.keptInLocked(w, live)
	}
	if !ok {
		o.disownClaimLocked(m.UID)
		o.owners.wait(
			m.UID,
			claimsOf(w.view, m.Namespace),
			place{watch: w, namespace: m.Namespace, name: m.Name},
		)
		return
	}
	o.belongsLocked(w, live, owner)
}

// claimStaysLocked has a claim wait whose StatefulSet was let go: it stays at the target, and a
// StatefulSet of that name gets it back.
func (o *Observer) claimStaysLocked(uid string, rec *record) {
	k := rec.key
	if (resource{k.Group, k.Resource}) != claimResource {
		return
	}
	w, ok := o.watchKeyOf(k, claimResource)
	if !ok || o.watchers[w] == nil {
		return // a new watch lists it
	}
	namespace := o.Inventory.There(k.Space, k.Namespace)
	o.owners.wait(uid, claimsOf(w.view, namespace), place{watch: w, namespace: namespace, name: k.Name})
}

// templateOwnerLocked returns the placed StatefulSet one of whose templates makes a claim of this
// name with these labels: TEMPLATE-NAME-ORDINAL, as Kubernetes itself finds it again.
func (o *Observer) templateOwnerLocked(w watchKey, live *target.Object) (store.Key, bool) {
	for k, view := range o.claimers {
		if view != w.view || k.Resource != "statefulsets" ||
			!strings.Contains(live.Metadata.Name, "-"+k.Name+"-") { // most claims are not its own
			continue
		}
		r, known := o.Inventory.Get(k)
		if !known || target.Mapping(r.Prefix).KeyThere(k).Namespace != live.Metadata.Namespace {
			continue
		}
		templates, ok := target.ClaimTemplates(k, o.Desired(k))
		if ok && templates.Made(live.Metadata.Name, live.Metadata.Labels) {
			return k, true
		}
	}
	return store.Key{}, false
}
