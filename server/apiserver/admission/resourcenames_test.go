package admission

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

func TestKindsAreNoResources(t *testing.T) {
	objects := func(names ...any) map[string]any {
		return map[string]any{"objects": []any{map[string]any{"resources": names}}}
	}
	scope := func(name string) map[string]any {
		return map[string]any{"scope": map[string]any{"resource": name}}
	}
	for _, c := range []struct {
		resource string
		spec     map[string]any
		want     string
	}{
		{"placements", objects("deployments", "deploy"), "spec.objects[0].resources[1]: \"deploy\" selects nothing: " +
			"resources are plurals, so write deployments"},
		{"placements", objects("Deployment"), "so write deployments"},
		{"placements", objects("Widgets"), "lower-case letters; kubectl api-resources"},
		{"placements", objects("*", "widgets", "deployments"), ""},
		{"customizers", objects("ing"), "so write ingresses"},
		{"statuscollectors", scope("pod"), "spec.scope.resource: \"pod\" selects nothing"},
		{"statuscollectors", scope("pods"), ""},
		{"spaces", scope("pod"), ""},
	} {
		var told warned
		ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &told)
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "p"}, "spec": c.spec}}
		a := admission.NewAttributesRecord(obj, nil, v1alpha1.GroupVersion.WithKind("X"), "", "p",
			v1alpha1.GroupVersion.WithResource(c.resource), "", admission.Create, nil, false, nil)
		if err := (ResourceNames{}).Validate(ctx, a, nil); err != nil {
			t.Errorf("%s %v: %v", c.resource, c.spec, err)
		}
		got := strings.Join(told, "; ")
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s %v: %q, want %q", c.resource, c.spec, got, c.want)
		}
	}
}
