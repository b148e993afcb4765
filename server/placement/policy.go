package placement

import (
	"encoding/json"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// SyncMark writes a policy as the annotation skerry.dev/sync has it: compact JSON of what differs
// from the default, empty when nothing does.
func SyncMark(p v1alpha1.SyncPolicy) string {
	if p.WhenAlreadyExists == v1alpha1.ReportError {
		p.WhenAlreadyExists = ""
	}
	if p.WhenDrifted == v1alpha1.DriftRestore {
		p.WhenDrifted = ""
	}
	if p.WhenPlacementDeleted == v1alpha1.PlacementClean {
		p.WhenPlacementDeleted = ""
	}
	p.RetainFields = slices.Sorted(slices.Values(p.RetainFields))
	b, err := json.Marshal(p)
	if err != nil || string(b) == "{}" {
		return "" // a struct of texts always encodes
	}
	return string(b)
}

// ReadSyncMark is the policy that an annotation tells; one that cannot be read tells none.
func ReadSyncMark(mark string) (p v1alpha1.SyncPolicy) {
	if mark != "" && json.Unmarshal([]byte(mark), &p) != nil {
		return v1alpha1.SyncPolicy{}
	}
	return p
}

// Retains reports whether the field of a JSON pointer belongs to the targets.
func Retains(p v1alpha1.SyncPolicy, pointer string) bool {
	return slices.Contains(p.RetainFields, pointer)
}
