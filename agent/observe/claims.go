package observe

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// followClaimsLocked makes sure that claims are watched for a placed object that makes some, and
// looks again at those that were seen before it.
func (o *Observer) followClaimsLocked(k store.Key, rec *record, r inventory.Record) {
	pods := ownsPods(k) || (resource{k.Group, k.Resource}) == podResource
	if o.claimers[k] != "" || rec.counted == nil || !pods || !makesClaims(k, o.Desired(k)) {
		return
	}
	o.claimers[k] = rec.counted.view
	o.countLocked(watchKey{rec.counted.view, claimResource}, k, "v1", false)
	above := claimsOf(rec.counted.view, target.Mapping(r.Prefix).KeyThere(k).Namespace)
	for claim, at := range o.owners.waiting.Get(above) {
		o.owners.unwait(claim)
		o.fetch.add(at)
	}
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
		rec.owner != nil { // it had a controller until now, or still has its name
		o.belongsLocked(w, live, *rec.owner)
		return
	}
	owner, ok := o.templateOwnerLocked(w, live)
	if !ok {
		o.owners.wait(
			m.UID,
			claimsOf(w.view, m.Namespace),
			place{watch: w, namespace: m.Namespace, name: m.Name},
		)
		return
	}
	o.belongsLocked(w, live, owner)
}

// claimStaysLocked has a claim wait whose StatefulSet is no longer placed: it stays at the target,
// and a StatefulSet of that name gets it back.
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
	name, ordinal, ok := cutLast(live.Metadata.Name)
	if _, err := strconv.ParseUint(ordinal, 10, 31); !ok || err != nil {
		return store.Key{}, false
	}
	for k, view := range o.claimers {
		if view != w.view || k.Resource != "statefulsets" {
			continue
		}
		template, found := strings.CutSuffix(name, "-"+k.Name)
		r, known := o.Inventory.Get(k)
		if !found || !known ||
			target.Mapping(r.Prefix).KeyThere(k).Namespace != live.Metadata.Namespace {
			continue
		}
		if hasTemplate(o.Desired(k), template, live.Metadata.Labels) {
			return k, true
		}
	}
	return store.Key{}, false
}

func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// hasTemplate reports whether a StatefulSet has a template of this name whose claims have the
// labels by which the StatefulSet selects.
func hasTemplate(body []byte, name string, labels map[string]string) bool {
	var set struct {
		Spec struct {
			Selector             struct{ MatchLabels map[string]string }
			VolumeClaimTemplates []struct{ Metadata struct{ Name string } }
		}
	}
	if json.Unmarshal(body, &set) != nil {
		return false
	}
	for label, value := range set.Spec.Selector.MatchLabels {
		if labels[label] != value {
			return false
		}
	}
	for _, t := range set.Spec.VolumeClaimTemplates {
		if t.Metadata.Name == name {
			return true
		}
	}
	return false
}
