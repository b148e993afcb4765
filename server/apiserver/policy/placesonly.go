package policy

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/webhook"
)

// asked returns the context in which webhooks are called about a write.
func asked(ctx context.Context, a admission.Attributes) context.Context {
	if placesOnly(a) {
		return webhook.WithPlacesOnly(ctx)
	}
	return ctx
}

// placesOnly reports whether a write changes only where something is placed: the label
// skerry.dev/target of an object, or a Placement.
func placesOnly(a admission.Attributes) bool {
	if a.GetSubresource() != "" {
		return false
	}
	if r := a.GetResource(); r.Group == v1alpha1.GroupVersion.Group {
		return r.Resource == "placements"
	}
	if a.GetOperation() != admission.Update {
		return false
	}
	is, err1 := meta.Accessor(a.GetObject())
	was, err2 := meta.Accessor(a.GetOldObject())
	if err1 != nil || err2 != nil ||
		is.GetLabels()[v1alpha1.LabelTarget] == was.GetLabels()[v1alpha1.LabelTarget] {
		return false
	}
	return equality.Semantic.DeepEqual(withoutPlace(a.GetObject()), withoutPlace(a.GetOldObject()))
}

// withoutPlace returns a copy of an object without the label skerry.dev/target and without the
// metadata that the center and kubectl write.
func withoutPlace(o runtime.Object) runtime.Object {
	o = o.DeepCopyObject()
	m, err := meta.Accessor(o)
	if err != nil {
		return o
	}
	m.SetLabels(without(m.GetLabels(), v1alpha1.LabelTarget))
	m.SetAnnotations(without(
		m.GetAnnotations(), append(v1alpha1.CenterAnnotations(), corev1.LastAppliedConfigAnnotation)...,
	))
	m.SetManagedFields([]metav1.ManagedFieldsEntry(nil))
	m.SetResourceVersion("")
	m.SetGeneration(0)
	return o
}

func without(from map[string]string, names ...string) map[string]string {
	out := make(map[string]string, len(from))
	for name, value := range from {
		out[name] = value
	}
	for _, name := range names {
		delete(out, name)
	}
	return out
}
