package placement

import (
	"strings"
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

func TestBegun(t *testing.T) {
	for _, c := range []struct {
		resource, status string
		want             bool
	}{
		{"batch/jobs", `{"startTime":"2026-01-01T00:00:00Z"}`, true},
		{"batch/jobs", `{"active":2}`, true},
		{"batch/jobs", `{"conditions":[{"type":"Suspended","status":"True"}]}`, false},
		{"batch/jobs", `{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Complete","status":"True"}]}`, true},
		{"batch/jobs", `{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"FailureTarget","status":"True"}]}`, true},
		{"batch/cronjobs", `{"active":[{"name":"one"}]}`, true},
		{"batch/cronjobs", `{"lastScheduleTime":"2026-01-01T00:00:00Z"}`, false},
		{"/pods", `{"phase":"Pending"}`, true},
		{"/pods", `{"phase":"Succeeded"}`, true},
		{"apps/deployments", `{"replicas":1}`, false},
	} {
		group, resource, _ := strings.Cut(c.resource, "/")
		if is := Judge(store.Key{Group: group, Resource: resource}, store.Report{Status: []byte(c.status)}); is.Begun != c.want {
			t.Errorf("%s %s: %v", c.resource, c.status, is.Begun)
		}
	}
}
