package admission

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestPlacementsRefuseBadConstraints(t *testing.T) {
	of := func(expression string, suspend bool) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement", "metadata": map[string]any{"name": "p"},
			"spec": map[string]any{"suspend": suspend, "objects": []any{map[string]any{}}, "targets": map[string]any{
				"selectors": []any{map[string]any{}}, "cel": []any{map[string]any{"expression": expression}}}},
		}}
	}
	check := func(now, before *unstructured.Unstructured, subresource string) error {
		operation := admission.Create
		if before != nil {
			operation = admission.Update
		}
		a := admission.NewAttributesRecord(now, nil, v1alpha1.GroupVersion.WithKind("Placement"), "", "p",
			v1alpha1.GroupVersion.WithResource("placements"), subresource, operation, nil, false, nil)
		if before != nil {
			a = admission.NewAttributesRecord(now, before, v1alpha1.GroupVersion.WithKind("Placement"), "", "p",
				v1alpha1.GroupVersion.WithResource("placements"), subresource, operation, nil, false, nil)
		}
		return Constraints{}.Validate(t.Context(), a, nil)
	}
	const bad = "target.nam == 'x'"
	err := check(of(bad, false), nil, "")
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.targets.cel[0].expression") ||
		!strings.Contains(err.Error(), "undefined field") {
		t.Errorf("the refusal does not name field and cause: %v", err)
	}
	for name, err := range map[string]error{
		"a good one":                check(of("target.name == 'x'", false), nil, ""),
		"a status":                  check(of(bad, false), of("target.name == 'x'", false), "status"),
		"another field of old ones": check(of(bad, true), of(bad, false), ""),
	} {
		if err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	if check(of(bad, false), of("target.name == 'x'", false), "") == nil {
		t.Error("an update to a bad one is not refused")
	}
}

func TestPlacementsRefuseBadSelectors(t *testing.T) {
	good, bad := map[string]any{"matchLabels": map[string]any{"a": "b"}},
		map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Like", "values": []any{"b"}}}}
	of := func(spaces, namespaces, own, weight any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement", "metadata": map[string]any{"name": "p"},
			"spec": map[string]any{"spaceSelector": spaces,
				"objects": []any{map[string]any{"namespaceSelector": namespaces, "labelSelector": own}},
				"targets": map[string]any{"names": []any{"a"}, "replicas": "Divided", "division": map[string]any{
					"weights": []any{map[string]any{"selector": weight, "weight": int64(1)}}}}},
		}}
	}
	check := func(now *unstructured.Unstructured) error {
		return Constraints{}.Validate(t.Context(), admission.NewAttributesRecord(now, nil,
			v1alpha1.GroupVersion.WithKind("Placement"), "", "p", v1alpha1.GroupVersion.WithResource("placements"), "",
			admission.Create, nil, false, nil), nil)
	}
	if err := check(of(good, good, good, good)); err != nil {
		t.Fatalf("a good one is refused: %v", err)
	}
	zero := of(good, good, good, map[string]any{})
	_ = unstructured.SetNestedSlice(zero.Object, []any{map[string]any{"selector": map[string]any{}, "weight": int64(0)}},
		"spec", "targets", "division", "weights")
	if err := check(zero); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.targets.division.weights") {
		t.Errorf("weights that are all 0: %v", err)
	}
	for field, o := range map[string]*unstructured.Unstructured{
		"spec.spaceSelector":                        of(bad, good, good, good),
		"spec.objects[0].namespaceSelector":         of(good, bad, good, good),
		"spec.objects[0].labelSelector":             of(good, good, bad, good),
		"spec.targets.division.weights[0].selector": of(good, good, good, bad),
	} {
		if err := check(o); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) ||
			!strings.Contains(err.Error(), "is not a valid label selector operator") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
