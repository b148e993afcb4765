package admin

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// TestIsExported: what the center makes in each space is left out, unless somebody has filled it.
func TestIsExported(t *testing.T) {
	configMaps, roles := schema.GroupResource{Resource: "configmaps"},
		schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "roles"}
	object := func(namespace, name string, data map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetNamespace(namespace)
		o.SetName(name)
		if data != nil {
			o.Object["data"] = data
		}
		return o
	}
	jobs, hook := schema.GroupResource{Group: "batch", Resource: "jobs"}, object("default", "hook", nil)
	hook.SetAnnotations(map[string]string{v1alpha1.AnnotationHook: "any"})
	deployments, mover := schema.GroupResource{Group: "apps", Resource: "deployments"}, object("default", "mover", nil)
	mover.SetAnnotations(map[string]string{v1alpha1.AnnotationMover: "any"})
	const config = "extension-apiserver-authentication"
	filled := map[string]any{"client-ca-file": "mine"}
	for name, c := range map[string]struct {
		gr   schema.GroupResource
		o    *unstructured.Unstructured
		want bool
	}{
		"the authorities of every namespace": {configMaps, object("default", "kube-root-ca.crt", filled), false},
		"who is trusted":                     {configMaps, object("kube-system", config, nil), false},
		"who is trusted, filled":             {configMaps, object("kube-system", config, filled), true},
		"of that name elsewhere":             {configMaps, object("default", config, nil), true},
		"the reader":                         {roles, object("kube-system", config+"-reader", nil), false},
		"another role":                       {roles, object("kube-system", "mine", nil), true},
		"a Job":                              {jobs, object("default", "mine", nil), true},
		"a Job that is a hook of a move":     {jobs, hook, false},
		"a Deployment":                       {deployments, object("default", "mine", nil), true},
		"what copies a volume":               {deployments, mover, false},
	} {
		if got := isExported(c.gr, c.o); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
