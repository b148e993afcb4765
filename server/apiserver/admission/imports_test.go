package admission

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// TestWhoMaySayWhoAnObjectWas: no user, by no way into an object: a status takes annotations, too.
func TestWhoMaySayWhoAnObjectWas(t *testing.T) {
	const identity = `{"uid":"u-1","creationTimestamp":"2026-01-01T00:00:00Z"}`
	object := func(text string) runtime.Object {
		notes := map[string]any{}
		if text != "" {
			notes[v1alpha1.AnnotationImport] = text
		}
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": notes}}}
	}
	admin := &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}}
	for _, c := range []struct {
		op        admission.Operation
		sub       string
		was, text string
		by        user.Info
		ok        bool
	}{
		{admission.Create, "", "", "", nil, true},
		{admission.Create, "", "", identity, nil, false},
		{admission.Create, "", "", identity, admin, true},
		{admission.Update, "", "", identity, admin, false},
		{admission.Update, "status", "", identity, nil, false},
		{admission.Update, "scale", "", identity, nil, false},
		{admission.Update, "status", identity, identity, nil, true},
		{admission.Update, "status", identity, "", nil, true},
	} {
		var old runtime.Object
		if c.op == admission.Update {
			old = object(c.was)
		}
		a := admission.NewAttributesRecord(object(c.text), old, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "app", "p",
			schema.GroupVersionResource{Version: "v1", Resource: "pods"}, c.sub, c.op, nil, false, c.by)
		if err := (Imports{}).Validate(request.WithSpace(t.Context(), "shop"), a, nil); (err == nil) != c.ok {
			t.Errorf("%s %q from %q to %q: %v", c.op, c.sub, c.was, c.text, err)
		}
	}
}
