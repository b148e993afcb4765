package target

import (
	"encoding/json"
	"slices"

	"skerry.dev/skerry/store"
)

// Templates are the templates of a StatefulSet for claims.
type Templates struct {
	set    string
	names  []string
	labels map[string]string // by which the StatefulSet selects; its claims have them
}

// ClaimTemplates reads the templates in the body of an object. It reports false where it has none.
func ClaimTemplates(k store.Key, body []byte) (Templates, bool) {
	var object struct{ Spec json.RawMessage }
	if !isStatefulSet(k) || json.Unmarshal(body, &object) != nil {
		return Templates{}, false
	}
	return ClaimTemplatesOf(k, object.Spec)
}

// ClaimTemplatesOf reads the templates in the spec of an object, which has the name in the key. It
// reports false where it has none.
func ClaimTemplatesOf(k store.Key, spec json.RawMessage) (Templates, bool) {
	var set struct {
		Selector             struct{ MatchLabels map[string]string }
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } }
	}
	if !isStatefulSet(k) || json.Unmarshal(spec, &set) != nil || len(set.VolumeClaimTemplates) == 0 {
		return Templates{}, false
	}
	out := Templates{set: k.Name, labels: set.Selector.MatchLabels}
	for _, t := range set.VolumeClaimTemplates {
		out.names = append(out.names, t.Metadata.Name)
	}
	return out, true
}

func isStatefulSet(k store.Key) bool { return k.Group == "apps" && k.Resource == "statefulsets" }

// Made reports whether the StatefulSet makes claims of this name with these labels.
func (t Templates) Made(claim string, labels map[string]string) bool {
	template, ok := store.ClaimTemplate(claim, t.set)
	if !ok || !slices.Contains(t.names, template) {
		return false
	}
	for label, value := range t.labels {
		if labels[label] != value {
			return false
		}
	}
	return true
}
