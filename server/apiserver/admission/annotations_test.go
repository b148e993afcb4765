package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
)

// An update moves nothing, but one that gives an object a wish of its own begins with where the
// object is, not with where it was; and is said to be undecided where that is not known.
func TestMarkOfAnUpdate(t *testing.T) {
	configMap := func(targets, wish string) *corev1.ConfigMap {
		o := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "app", Annotations: map[string]string{
				v1alpha1.AnnotationTargets: targets, v1alpha1.AnnotationMove: "{}"}},
		}
		if wish != "" {
			o.Labels = map[string]string{v1alpha1.LabelTarget: wish}
		}
		return o
	}
	for name, c := range map[string]struct {
		old, now    *corev1.ConfigMap
		namespace   string
		subresource string
		unknown     bool
		want        string
		wantMove    bool
		// wantUndecided says that the targets are from before.
		wantUndecided bool
	}{
		"no wish":        {configMap("a,b", ""), configMap("a,b", ""), "app", "", false, "a,b", true, false},
		"a wish":         {configMap("a,b", ""), configMap("a,b", "c"), "app", "", false, "b", false, false},
		"another wish":   {configMap("a", "a"), configMap("a", "c"), "app", "", false, "a", true, false},
		"a wish no more": {configMap("a", "a"), configMap("a", ""), "app", "", false, "a", false, true},
		"a status":       {configMap("a,b", ""), configMap("a,b", "c"), "app", "status", false, "a,b", true, false},
		"a wish, and nobody knows": {
			configMap("a,b", ""),
			configMap("a,b", "c"),
			"app",
			"",
			true,
			"a,b",
			false,
			true,
		},
		"a record of its own without a wish": {configMap("a,b", ""), configMap("a,b", "c"), "", "", true, "a,b", true, false},
	} {
		m := &Annotations{Place: func(context.Context, string, store.Key, metav1.Object) (string, bool) {
			if c.unknown {
				return "", false
			}
			return "b", true
		}}
		attributes := admission.NewAttributesRecord(
			c.now,
			c.old,
			schema.GroupVersionKind{},
			c.namespace,
			"one",
			schema.GroupVersionResource{
				Version:  "v1",
				Resource: "configmaps",
			},
			c.subresource,
			admission.Update,
			&metav1.UpdateOptions{},
			false,
			nil,
		)
		if err := m.Admit(request.WithSpace(context.Background(), "shop"), attributes, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.now.Annotations[v1alpha1.AnnotationTargets]; got != c.want {
			t.Errorf("%s: the targets are %q, want %q", name, got, c.want)
		}
		if got := c.now.Annotations[v1alpha1.AnnotationUndecided] != ""; got != c.wantUndecided {
			t.Errorf("%s: said to be undecided: %v", name, got)
		}
		if _, got := c.now.Annotations[v1alpha1.AnnotationMove]; got != c.wantMove {
			t.Errorf("%s: the annotation of a move is there: %v, want %v", name, got, c.wantMove)
		}
	}
}
