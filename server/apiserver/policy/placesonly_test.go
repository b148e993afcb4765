package policy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	api "k8s.io/kubernetes/pkg/apis/core"
)

func written(resource, sub string, op admission.Operation, is, was runtime.Object) admission.Attributes {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
	if resource == "placements" || resource == "spaces" {
		gvr.Group = "skerry.dev"
	}
	return admission.NewAttributesRecord(
		is, was, schema.GroupVersionKind{}, "web", "a", gvr, sub, op, nil, false, nil,
	)
}

func service(change func(*api.Service)) *api.Service {
	s := &api.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Labels: map[string]string{"app": "a"}, ResourceVersion: "5",
		},
		Spec: api.ServiceSpec{Selector: map[string]string{"app": "a"}},
	}
	if change != nil {
		change(s)
	}
	return s
}

func TestPlacesOnly(t *testing.T) {
	moved := func(s *api.Service) { s.Labels["skerry.dev/target"] = "oslo" }
	custom := func(target, text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "a", "labels": map[string]any{"skerry.dev/target": target}},
			"spec":     map[string]any{"text": text},
		}}
	}
	for name, c := range map[string]struct {
		a    admission.Attributes
		only bool
	}{
		"the label comes": {
			written("services", "", admission.Update, service(moved), service(nil)), true,
		},
		"the label goes": {
			written("services", "", admission.Update, service(nil), service(moved)), true,
		},
		"the label, and what is noted along": {written("services", "", admission.Update,
			service(func(s *api.Service) {
				moved(s)
				s.ResourceVersion, s.Generation = "6", 2
				s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
				s.Annotations = map[string]string{
					"skerry.dev/targets": "oslo", "kubectl.kubernetes.io/last-applied-configuration": "{}",
				}
			}), service(nil)), true},
		"of a custom resource": {
			written("letters", "", admission.Update, custom("oslo", "x"), custom("paris", "x")), true,
		},
		"a Placement": {
			written("placements", "", admission.Create, custom("", "x"), nil), true,
		},
		"the deletion of a Placement": {
			written("placements", "", admission.Delete, nil, custom("", "x")), true,
		},
		"the label and another one": {written("services", "", admission.Update,
			service(func(s *api.Service) { moved(s); s.Labels["app"] = "b" }), service(nil)), false},
		"the label and an annotation": {written("services", "", admission.Update,
			service(func(s *api.Service) {
				moved(s)
				s.Annotations = map[string]string{"a": "b"}
			}), service(nil)), false},
		"the label and the spec": {written("services", "", admission.Update,
			service(func(s *api.Service) { moved(s); s.Spec.Selector = nil }), service(nil)), false},
		"the label and the spec of a custom resource": {
			written("letters", "", admission.Update, custom("oslo", "x"), custom("paris", "y")), false,
		},
		"the label and a finalizer": {written("services", "", admission.Update,
			service(func(s *api.Service) { moved(s); s.Finalizers = []string{"a/b"} }), service(nil)), false},
		"nothing": {written("services", "", admission.Update, service(nil), service(nil)), false},
		"a subresource": {
			written("services", "status", admission.Update, service(moved), service(nil)), false,
		},
		"a new object with the label": {
			written("services", "", admission.Create, service(moved), nil), false,
		},
		"a deletion":           {written("services", "", admission.Delete, nil, service(moved)), false},
		"another kind of ours": {written("spaces", "", admission.Update, custom("a", "x"), custom("b", "x")), false},
	} {
		if got := placesOnly(c.a); got != c.only {
			t.Errorf("%s: %v", name, got)
		}
	}
}
