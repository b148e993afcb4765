package fields

import (
	"slices"
	"testing"
	"time"
)

func TestFields(t *testing.T) {
	obj := map[string]any{
		"kind": "Pod", "number": int64(1),
		"spec": map[string]any{
			"node":       map[string]any{"name": "a"},
			"containers": []any{map[string]any{"name": "b"}, "no map", map[string]any{"name": "c"}},
		},
	}
	for _, tc := range []struct {
		path []string
		want string
	}{
		{[]string{"kind"}, "Pod"},
		{[]string{"spec", "node", "name"}, "a"},
		{[]string{"number"}, ""},
		{[]string{"absent"}, ""},
		{[]string{"absent", "name"}, ""},
		{[]string{"kind", "name"}, ""},
		{[]string{"spec", "containers", "name"}, ""},
	} {
		if got := String(obj, tc.path...); got != tc.want {
			t.Errorf("%q is %q, want %q", tc.path, got, tc.want)
		}
	}
	if String(nil, "kind") != "" || Map(nil, "spec") != nil || List(nil, "spec", "containers") != nil {
		t.Error("an object that is nil has fields")
	}
	if Map(obj, "spec", "node")["name"] != "a" || Map(obj, "kind") != nil {
		t.Error("Map returns another map than the one of the path")
	}
	if len(List(obj, "spec", "containers")) != 3 || List(obj, "spec") != nil {
		t.Error("List returns another list than the one of the path")
	}
	var names []string
	for c := range Maps(obj, "spec", "containers") {
		names = append(names, String(c, "name"))
	}
	if !slices.Equal(names, []string{"b", "c"}) {
		t.Errorf("Maps yields %v", names)
	}
	for c := range Maps(obj, "spec", "containers") {
		if String(c, "name") != "b" {
			t.Error("Maps goes on after its loop has ended")
		}
		break
	}
}

func TestNothingIsAllocated(t *testing.T) {
	obj := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "a"}}}
	if n := testing.AllocsPerRun(100, func() {
		if String(obj, "metadata", "labels", "app") != "a" || Map(obj, "metadata", "absent") != nil {
			t.Error("another field")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// A condition keeps its time while its status is the same.
func TestSince(t *testing.T) {
	status := map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		map[string]any{"type": "Valid", "status": "False", "lastTransitionTime": "2026-01-02T00:00:00Z"}}}
	now := time.Date(2026, 1, 3, 1, 0, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct{ kind, is, want string }{
		{"Ready", "True", "2026-01-01T00:00:00Z"},
		{"Valid", "False", "2026-01-02T00:00:00Z"},
		{"Ready", "False", "2026-01-03T00:00:00Z"},
		{"Absent", "True", "2026-01-03T00:00:00Z"},
	} {
		if got := Since(status, c.kind, c.is, now); got != c.want {
			t.Errorf("%s %s: %s, not %s", c.kind, c.is, got, c.want)
		}
	}
	if got := Since(nil, "Ready", "True", now); got != "2026-01-03T00:00:00Z" {
		t.Errorf("of no status: %s", got)
	}
}
