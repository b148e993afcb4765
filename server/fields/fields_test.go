package fields

import (
	"slices"
	"testing"
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
