package admission

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// typed is a custom resource as its type, false for what is none of it, or absent.
func typed[T any](o runtime.Object) (*T, bool) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u == nil {
		return nil, false
	}
	out := new(T)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out) == nil
}
