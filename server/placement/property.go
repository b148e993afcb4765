package placement

import (
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/quantity"
)

// meets reports whether properties fulfil a requirement.
func meets(r *v1alpha1.PropertyRequirement, properties map[string]string) bool {
	have, exists := properties[r.Name]
	switch r.Operator {
	case v1alpha1.PropertyExists:
		return exists
	case v1alpha1.PropertyDoesNotExist:
		return !exists
	case v1alpha1.PropertyIn:
		return exists && slices.Contains(r.Values, have)
	case v1alpha1.PropertyNotIn:
		return !slices.Contains(r.Values, have)
	}
	if !exists || len(r.Values) != 1 {
		return false
	}
	a, errA := quantity.Parse(have)
	b, errB := quantity.Parse(r.Values[0])
	if errA != nil || errB != nil {
		return false
	}
	if r.Operator == v1alpha1.PropertyGt {
		return a.Cmp(b) > 0
	}
	return a.Cmp(b) < 0
}

// requirementText writes a requirement for people.
func requirementText(r *v1alpha1.PropertyRequirement) string {
	out := r.Name + " " + string(r.Operator)
	if len(r.Values) > 0 {
		out += " " + strings.Join(r.Values, ",")
	}
	return out
}
