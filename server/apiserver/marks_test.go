package apiserver

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// An update moves nothing, but one that gives an object a wish of its own begins with where the object is, not with where it was.
func TestMarkOfAnUpdate(t *testing.T) {
	m := &marks{place: func(context.Context, string, store.Key, metav1.Object) (string, bool) { return "b", true }}
	configMap := func(targets, wish string) *corev1.ConfigMap {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "app", Annotations: map[string]string{v1alpha1.AnnotationTargets: targets}}}
		if wish != "" {
			o.Labels = map[string]string{v1alpha1.LabelTarget: wish}
		}
		return o
	}
	for name, c := range map[string]struct {
		old, now    *corev1.ConfigMap
		subresource string
		want        string
	}{
		"no wish":      {configMap("a,b", ""), configMap("a,b", ""), "", "a,b"},
		"a wish":       {configMap("a,b", ""), configMap("a,b", "c"), "", "b"},
		"another wish": {configMap("a", "a"), configMap("a", "c"), "", "a"},
		"a status":     {configMap("a,b", ""), configMap("a,b", "c"), "status", "a,b"},
	} {
		attributes := admission.NewAttributesRecord(c.now, c.old, schema.GroupVersionKind{}, "app", "one",
			schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, c.subresource, admission.Update, &metav1.UpdateOptions{}, false, nil)
		if err := m.Admit(withSpace(context.Background(), "shop"), attributes, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.now.Annotations[v1alpha1.AnnotationTargets]; got != c.want {
			t.Errorf("%s: the mark is %q, want %q", name, got, c.want)
		}
	}
}
