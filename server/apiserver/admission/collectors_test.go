package admission

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestCollectorsRefuseBadExpressions(t *testing.T) {
	of := func(filter, label string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "skerry.dev/v1alpha1", "kind": "StatusCollector",
			"metadata": map[string]any{"name": "c", "labels": map[string]any{"a": label}},
			"spec": map[string]any{"scope": map[string]any{"resource": "pods"}, "filter": filter,
				"combinedFields": []any{map[string]any{"name": "pods", "type": "COUNT"}}},
		}}
	}
	refuse := func(spec v1alpha1.StatusCollectorSpec) *field.Error {
		if spec.Filter != "good" {
			return field.Invalid(field.NewPath("spec", "filter"), spec.Filter, "write good")
		}
		return nil
	}
	check := func(now, before *unstructured.Unstructured) error {
		operation := admission.Create
		if before != nil {
			operation = admission.Update
		}
		kind, resource := v1alpha1.GroupVersion.WithKind("StatusCollector"),
			v1alpha1.GroupVersion.WithResource("statuscollectors")
		a := admission.NewAttributesRecord(now, nil, kind, "", "c", resource, "", operation, nil, false, nil)
		if before != nil {
			a = admission.NewAttributesRecord(now, before, kind, "", "c", resource, "", operation, nil, false, nil)
		}
		return Collectors{Check: refuse}.Validate(t.Context(), a, nil)
	}
	err := check(of("bad", ""), nil)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.filter: Invalid value: \"bad\": write good") {
		t.Errorf("the refusal does not name field and cause: %v", err)
	}
	if check(of("bad", ""), of("good", "")) == nil {
		t.Error("an update to a bad one is not refused")
	}
	for name, err := range map[string]error{
		"a good one":           check(of("good", ""), nil),
		"a label of a bad one": check(of("bad", "new"), of("bad", "old")),
	} {
		if err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}
