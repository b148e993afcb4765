package server_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// costly looks at each label of a target for each label, and so on.
const costly = "target.labels.all(a, target.labels.all(b, target.labels.all(c, target.labels.all(d, " +
	"target.labels.all(e, a + b + c + d + e != '')))))"

// badConstraints are refused when they are written, with the field or what to write instead.
func badConstraints(t *testing.T, c *center) {
	d := dyn(t, c.admin("team"))
	bad := object("skerry.dev/v1alpha1", "Placement", "", "p")
	for says, targets := range map[string]map[string]any{
		"to select none count: 0":           {"count": int64(2)},
		"spec.targets.cel[0].expression":    {"cel": []any{map[string]any{"expression": "target.nam == 'x'"}}},
		"it must be of type bool":           {"cel": []any{map[string]any{"expression": "target.name"}}},
		"the expression may cost":           {"cel": []any{map[string]any{"expression": costly}}},
		"spec.targets.kubernetesVersion":    {"kubernetesVersion": "1.30"},
		"raise count or lower":              {"count": int64(1), "spread": []any{map[string]any{"by": "a", "minGroups": int64(2)}}},
		"one of minGroups and maxSkew":      {"spread": []any{map[string]any{"by": "a"}}},
		"maxSkew in body should be greater": {"spread": []any{map[string]any{"by": "a", "maxSkew": int64(0)}}},
		"antiAffinity has the same term": {"affinity": []any{map[string]any{"placements": []any{"db"}}},
			"antiAffinity": []any{map[string]any{"placements": []any{"db"}}}},
		"all targets have weight 0": {"replicas": "Divided", "division": map[string]any{"weights": []any{
			map[string]any{"selector": map[string]any{}, "weight": int64(0)}}}},
		"write the key of a label":          {"spread": []any{map[string]any{"by": "zo ne", "maxSkew": int64(1)}}},
		"tolerationSeconds needs":           {"tolerations": []any{map[string]any{"key": "a", "tolerationSeconds": int64(1)}}},
		"without a key":                     {"tolerations": []any{map[string]any{"value": "a"}}},
		"exactly one of placements":         {"affinity": []any{map[string]any{"by": "a"}}},
		"exactly one of selector and":       {"preferences": []any{map[string]any{"weight": int64(1)}}},
		"Gt and Lt compare quantities":      {"properties": []any{map[string]any{"name": "a", "operator": "Gt", "values": []any{"much"}}}},
		"Exists and DoesNotExist take none": {"properties": []any{map[string]any{"name": "a", "operator": "Exists", "values": []any{"1"}}}},
	} {
		if says != "to select none count: 0" {
			targets["selectors"] = []any{map[string]any{}}
		}
		bad.Object["spec"] = map[string]any{"objects": []any{map[string]any{}}, "targets": targets}
		_, err := d.Resource(placementsGVR).Create(t.Context(), bad, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	badTargets(t, c)
}

// badTargets are refused when they are written, with the field and what to write instead.
func badTargets(t *testing.T, c *center) {
	d := dyn(t, c.admin("root"))
	for says, spec := range map[string]map[string]any{
		"cpu and memory must not be negative":    {"bounds": map[string]any{"cpu": "-1"}},
		"spec.bounds.pods":                       {"bounds": map[string]any{"pods": int64(-1)}},
		"spec.bounds.objects":                    {"bounds": map[string]any{"objects": int64(-1)}},
		"the lease must last at least 30s":       {"lease": map[string]any{"duration": "10s"}},
		"over a metered link the lease must":     {"lease": map[string]any{"duration": "1m"}, "link": map[string]any{"class": "metered"}},
		"of a taint is NoSchedule or NoExecute":  {"taints": []any{map[string]any{"key": "a", "effect": "PreferNoSchedule"}}},
		"evictAfter must be at least 1m: a sess": {"evictAfter": "10s"},
	} {
		site := object("skerry.dev/v1alpha1", "SyncTarget", "", "bad")
		site.Object["spec"] = spec
		_, err := d.Resource(syncTargetsGVR).Create(t.Context(), site, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	for _, kind := range []string{"SyncTarget", "Location"} {
		none := object("skerry.dev/v1alpha1", kind, "", v1alpha1.TargetNone)
		none.Object["spec"] = map[string]any{"selector": map[string]any{}}
		_, err := d.Resource(v1alpha1.GroupVersion.WithResource(strings.ToLower(kind)+"s")).Create(t.Context(), none,
			metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "is the wish to be nowhere") {
			t.Errorf("%s none: %v", kind, err)
		}
	}
}
