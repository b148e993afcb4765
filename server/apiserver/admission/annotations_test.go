package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
)

// What an object is with is written when it is created, whatever it brings along, and no update by a
// user changes it.
func TestTheUnitOfAnObject(t *testing.T) {
	configMap := func(unit, wish string) *corev1.ConfigMap {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "app",
			Annotations: map[string]string{v1alpha1.AnnotationTargets: "a"}}}
		if unit != "" {
			o.Annotations[v1alpha1.AnnotationUnit] = unit
		}
		if wish != "" {
			o.Labels = map[string]string{v1alpha1.LabelTarget: wish}
		}
		return o
	}
	for name, c := range map[string]struct {
		old, now *corev1.ConfigMap
		center   bool
		unknown  bool
		want     string
	}{
		"created":                        {now: configMap("", ""), want: "unit"},
		"created with that of another":   {now: configMap("parent", ""), want: "unit"},
		"created by a relay's agent":     {now: configMap("parent", ""), center: true, want: "unit"},
		"created where nobody knows":     {now: configMap("", ""), unknown: true},
		"created by a relay, not known":  {now: configMap("parent", ""), center: true, unknown: true},
		"updated":                        {old: configMap("N", ""), now: configMap("N", ""), want: "N"},
		"updated from a file":            {old: configMap("N", ""), now: configMap("", ""), want: "N"},
		"gets a wish":                    {old: configMap("N", ""), now: configMap("N", "b"), want: "N"},
		"loses its wish":                 {old: configMap("N", "b"), now: configMap("N", ""), want: "N"},
		"stamped by the center":          {old: configMap("", ""), now: configMap("N", ""), center: true, want: "N"},
		"was never placed, gets a wish":  {old: configMap("", ""), now: configMap("", "b")},
		"updated before it is placed":    {old: configMap("", ""), now: configMap("", "")},
		"the center keeps what is there": {old: configMap("N", ""), now: configMap("N", "b"), center: true, want: "N"},
	} {
		m := &Annotations{Place: func(context.Context, string, store.Key, metav1.Object) (string, string) {
			if c.unknown {
				return "", ""
			}
			return "a", "unit"
		}}
		operation, old := admission.Create, runtime.Object(nil)
		if c.old != nil {
			operation, old = admission.Update, c.old
		}
		attributes := admission.NewAttributesRecord(c.now, old, schema.GroupVersionKind{}, "app", "one",
			schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "", operation, nil, false, nil)
		ctx := request.WithSpace(context.Background(), "shop")
		if c.center {
			ctx = request.AsCenter(ctx)
		}
		if err := m.Admit(ctx, attributes, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.now.Annotations[v1alpha1.AnnotationUnit]; got != c.want {
			t.Errorf("%s: it is with %q, want %q", name, got, c.want)
		}
		if got := c.now.Annotations[v1alpha1.AnnotationTargets]; got != "a" && !c.unknown {
			t.Errorf("%s: the targets are %q", name, got)
		}
	}
}

// Whose Pods may call a Service, and whose UIDs its targets are told with that, is the center's to say: a user would
// learn which spaces there are.
func TestTheMembersOfAnImportAreTheCentersToSay(t *testing.T) {
	service := func(members string) *corev1.Service {
		o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "app"}}
		if members != "" {
			o.Annotations = map[string]string{v1alpha1.AnnotationMembers: members}
		}
		return o
	}
	for name, c := range map[string]struct {
		old, now *corev1.Service
		center   bool
		want     string
		refused  bool
	}{
		"created":                    {now: service("desk")},
		"changed":                    {old: service("desk"), now: service("desk,shop"), refused: true},
		"given":                      {old: service(""), now: service("shop"), refused: true},
		"taken off":                  {old: service("desk"), now: service(""), want: "desk"},
		"as it was":                  {old: service("desk"), now: service("desk"), want: "desk"},
		"created by the center":      {now: service("desk"), center: true, want: "desk"},
		"changed by a relay's agent": {old: service("desk"), now: service("shop"), center: true, want: "shop"},
	} {
		operation, old := admission.Create, runtime.Object(nil)
		if c.old != nil {
			operation, old = admission.Update, c.old
		}
		attributes := admission.NewAttributesRecord(c.now, old, schema.GroupVersionKind{}, "app", "one",
			schema.GroupVersionResource{Version: "v1", Resource: "services"}, "", operation, nil, false, nil)
		ctx := request.WithSpace(context.Background(), "shop")
		if c.center {
			ctx = request.AsCenter(ctx)
		}
		if err := new(Annotations).Admit(ctx, attributes, nil); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		} else if got := c.now.Annotations[v1alpha1.AnnotationMembers]; err == nil && got != c.want {
			t.Errorf("%s: the members are %q, want %q", name, got, c.want)
		}
	}
}
