package placement

import (
	"encoding/json"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// FormatSync returns a policy, and what of its objects comes back, as the value of AnnotationSync:
// compact JSON of what differs from the default, empty when nothing does.
func FormatSync(p v1alpha1.SyncPolicy, associated v1alpha1.Associated) string {
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
	if associated == v1alpha1.AssociatedAuto {
		associated = ""
	}
	b, err := json.Marshal(struct {
		v1alpha1.SyncPolicy
		Associated v1alpha1.Associated `json:"associated,omitempty"`
	}{p, associated})
	if err != nil || string(b) == "{}" {
		return "" // a struct of strings always encodes
	}
	return string(b)
}

// ParseSync returns the policy of a value of AnnotationSync, the zero policy if it cannot be read.
func ParseSync(value string) (p v1alpha1.SyncPolicy) {
	if value != "" && json.Unmarshal([]byte(value), &p) != nil {
		return v1alpha1.SyncPolicy{}
	}
	return p
}

// Retains reports whether the field of a JSON pointer belongs to the targets.
func Retains(p v1alpha1.SyncPolicy, pointer string) bool {
	return slices.Contains(p.RetainFields, pointer)
}
