package placement

import (
	"testing"

	"skerry.dev/skerry/store"
)

func TestFinished(t *testing.T) {
	job, pod := store.Key{Group: "batch", Resource: "jobs"}, store.Key{Resource: "pods"}
	condition := func(kind, status string) map[string]any {
		return map[string]any{
			"status": map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}},
		}
	}
	phase := func(p string) map[string]any { return map[string]any{"status": map[string]any{"phase": p}} }
	for name, c := range map[string]struct {
		key  store.Key
		obj  map[string]any
		want bool
	}{
		"complete":         {job, condition("Complete", "True"), true},
		"failed":           {job, condition("Failed", "True"), true},
		"not complete":     {job, condition("Complete", "False"), false},
		"suspended":        {job, condition("Suspended", "True"), false},
		"about to end":     {job, condition("SuccessCriteriaMet", "True"), false},
		"new":              {job, map[string]any{}, false},
		"a pod succeeded":  {pod, phase("Succeeded"), true},
		"a pod failed":     {pod, phase("Failed"), true},
		"a pod runs":       {pod, phase("Running"), false},
		"another resource": {store.Key{Group: "example.org", Resource: "jobs"}, condition("Complete", "True"), false},
	} {
		if got := Finished(c.key, c.obj); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
