package admission

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
)

// A label of its own is asked about when it is written, and not when the object changes otherwise.
func TestALabelThatPartsIsWarnedOf(t *testing.T) {
	labelled := func(target string) runtime.Object {
		of := map[string]any{"name": "web", "namespace": "app"}
		if target != "" {
			of["labels"] = map[string]any{v1alpha1.LabelTarget: target}
		}
		return &unstructured.Unstructured{Object: map[string]any{"metadata": of}}
	}
	parts := GoesAlong{Parts: func(k store.Key, label string, content map[string]any) string {
		return k.String() + " " + label
	}}
	const web = "shop/gateway.networking.k8s.io/httproutes/app/web "
	for _, c := range []struct {
		now, old runtime.Object
		want     []string
	}{
		{labelled("a"), nil, []string{web + "a"}},
		{labelled("b"), labelled("a"), []string{web + "b"}},
		{labelled("a"), labelled(""), []string{web + "a"}},
		{labelled("a"), labelled("a"), nil},
		{labelled(""), labelled("a"), nil},
		{labelled(""), nil, nil},
	} {
		var told warned
		ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &told)
		group := schema.GroupVersion{Group: "gateway.networking.k8s.io", Version: "v1"}
		a := admission.NewAttributesRecord(c.now, c.old, group.WithKind("HTTPRoute"), "app", "web",
			group.WithResource("httproutes"), "", admission.Update, nil, false, nil)
		if err := parts.Validate(ctx, a, nil); err != nil || !slices.Equal(told, c.want) {
			t.Errorf("%v after %v: %q, %v, want %q", c.now, c.old, told, err, c.want)
		}
	}
}
