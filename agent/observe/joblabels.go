package observe

import (
	"maps"

	"skerry.dev/skerry/agent/inventory"
)

// jobUIDLabels are the labels by which a Job selects its Pods, with its own UID as their value.
func jobUIDLabels() []string { return []string{"controller-uid", "batch.kubernetes.io/controller-uid"} }

// ownLabels are the labels of what belongs to a placed object as its source selects it: the API
// server makes the selector of a Job of its UID, which is another one in the space.
func ownLabels(labels map[string]string, placed inventory.Record) map[string]string {
	copied := false
	for _, name := range jobUIDLabels() {
		if labels[name] != placed.UID || placed.UID == "" {
			continue
		}
		if !copied {
			labels, copied = maps.Clone(labels), true
		}
		labels[name] = placed.OriginUID
	}
	return labels
}
