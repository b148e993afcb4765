package summary

import (
	"maps"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// A workload on several targets has a history at each of them, in ReplicaSets or ControllerRevisions with
// numbers of their own. Clients take what a workload controls for one history: with each number twice, kubectl
// rollout undo would go back to the present. So a workload controls in the space what its first target has, and
// owns what the others have.

// isHistory reports whether objects of a kind are the history of a workload.
func isHistory(k store.Key) bool {
	return k.Group == "apps" && (k.Resource == "replicasets" || k.Resource == "controllerrevisions")
}

// uncontrolled has the owners in the metadata of a mirror own it, and not control it.
func uncontrolled(meta map[string]any) {
	owners := []any{}
	for owner := range fields.Maps(meta, "ownerReferences") {
		owner = maps.Clone(owner)
		delete(owner, "controller")
		owners = append(owners, owner)
	}
	meta["ownerReferences"] = owners
}
