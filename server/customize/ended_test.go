package customize

import (
	"strings"
	"testing"
)

func TestWhatHasEndedSaysSo(t *testing.T) {
	object := func(apiVersion, kind string, status map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": apiVersion,
			"kind":       kind,
			"metadata":   map[string]any{"name": "x", "annotations": map[string]any{"a": "b"}},
			"status":     status,
		}
	}
	condition := func(kind, status string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}}
	}
	for _, c := range []struct {
		object map[string]any
		ended  bool
	}{
		{object("batch/v1", "Job", condition("Complete", "True")), true},
		{object("batch/v1", "Job", condition("Failed", "True")), true},
		{object("batch/v1", "Job", condition("Complete", "False")), false},
		{object("batch/v1", "Job", nil), false},
		{object("v1", "Pod", map[string]any{"phase": "Succeeded"}), true},
		{object("v1", "Pod", map[string]any{"phase": "Running"}), false},
		{object("apps/v1", "Deployment", condition("Failed", "True")), false},
	} {
		got, err := Render(c.object, Origin{Space: "shop", UID: "u"})
		if err != nil || strings.Contains(string(got), `"skerry.dev/ended":"true"`) != c.ended {
			t.Errorf("%v became %s, %v", c.object, got, err)
		}
	}
}
