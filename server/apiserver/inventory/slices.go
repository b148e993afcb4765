package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// The labels of a slice, see KEP-5313.
const (
	labelDecision  = Group + "/decision-key"
	labelIndex     = Group + "/decision-index"
	labelPlacement = Group + "/placement-key"
)

// mostDecisions is how many targets a slice has, by its definition.
const mostDecisions = 100

// decision is what a Placement of a space has decided. It is never changed.
type decision struct {
	name, uid, created string
	targets            []string
	revision           int64 // of the last change of the targets
}

// readDecision makes a decision of a write of its Placement: nil when it is gone, and the one before
// when the targets are the same.
func readDecision(before *decision, w store.Write) *decision {
	if w.Object == nil {
		return nil
	}
	now := &decision{
		name:     w.Key.Name,
		uid:      fields.String(w.Object, "metadata", "uid"),
		revision: w.Revision,
		created:  fields.String(w.Object, "metadata", "creationTimestamp"),
	}
	for _, v := range fields.List(w.Object, "status", "decision") {
		if name, ok := v.(string); ok {
			now.targets = append(now.targets, name)
		}
	}
	if before != nil && before.uid == now.uid && slices.Equal(before.targets, now.targets) {
		return before
	}
	return now
}

// slices is how many slices a decision has: one also where nothing is decided.
func (d *decision) slices() int {
	return max(1, (len(d.targets)+mostDecisions-1)/mostDecisions)
}

// in returns the slices as a space shows them.
func (d *decision) in(space string) (out []map[string]any) {
	for i := range d.slices() {
		rest := d.targets[i*mostDecisions:]
		list := []any{}
		for _, target := range rest[:min(len(rest), mostDecisions)] {
			list = append(list, map[string]any{"reason": "Decided",
				"clusterProfileRef": map[string]any{"name": target, "namespace": Namespace}})
		}
		index := strconv.Itoa(i)
		o := object(
			"PlacementDecision",
			space,
			shortened(d.name, mostName)+"-"+index,
			d.uid,
			d.created,
			d.revision,
			map[string]any{labelDecision: shortened(d.name, mostLabel), labelIndex: index,
				labelPlacement: shortened(d.name, mostLabel)},
			map[string]any{"decisions": list, "schedulerName": Manager},
		)
		o["metadata"].(map[string]any)["ownerReferences"] = []any{
			map[string]any{"uid": d.uid, "name": d.name,
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Placement", "controller": true},
		}
		out = append(out, o)
	}
	return out
}

// mostName and mostLabel are how long a name before its index, and the value of a label, may be.
const (
	mostName  = 240
	mostLabel = 63
)

// shortened returns a name, or where it is too long its beginning and a digest of it.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	const digits = 10
	return name[:most-digits-1] + "-" + hex.EncodeToString(sum[:])[:digits]
}
