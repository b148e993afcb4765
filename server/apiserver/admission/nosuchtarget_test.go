package admission

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// Who writes a target's name is asked about it, in a label or in a Placement, and not when something else
// changes.
func TestANameWithoutATargetIsWarnedOf(t *testing.T) {
	object := func(label string, names ...any) runtime.Object {
		of := map[string]any{"name": "x"}
		if label != "" {
			of["labels"] = map[string]any{v1alpha1.LabelTarget: label}
		}
		return &unstructured.Unstructured{Object: map[string]any{"metadata": of,
			"spec": map[string]any{"targets": map[string]any{"names": names}}}}
	}
	plugin := NoSuchTarget{Unknown: func(space string, names []string, selectors []labels.Selector) string {
		for _, s := range selectors {
			names = append(names, "{"+s.String()+"}")
		}
		return space + ": " + strings.Join(names, " ")
	}}
	selecting := func(tiers ...string) runtime.Object {
		o := object("")
		var all []any
		for _, tier := range tiers {
			all = append(all, map[string]any{"matchLabels": map[string]any{"tier": tier}})
		}
		o.(*unstructured.Unstructured).Object["spec"] = map[string]any{"targets": map[string]any{"selectors": all}}
		return o
	}
	grouped := object("")
	grouped.(*unstructured.Unstructured).Object["spec"] = map[string]any{"targets": map[string]any{"groups": []any{
		map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"tier": "own"}}}}}}
	group := v1alpha1.GroupVersion
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for _, c := range []struct {
		of       schema.GroupVersionResource
		now, old runtime.Object
		want     []string
	}{
		{deployments, object("a"), nil, []string{"shop: a"}},
		{deployments, object("b"), object("a"), []string{"shop: b"}},
		{deployments, object("a"), object("a"), nil},
		{deployments, object(v1alpha1.TargetNone), object("a"), nil},
		{deployments, object("", "b"), nil, nil},
		{deployments, object(""), object("a"), nil},
		{group.WithResource("placements"), object("", "b", "c"), object("", "b"), []string{"shop: b c"}},
		{group.WithResource("placements"), object("", "b"), object("", "b"), nil},
		{group.WithResource("placements"), selecting("gold"), nil, []string{"shop: {tier=gold}"}},
		{group.WithResource("placements"), selecting("gold"), selecting("gold"), nil},
		{group.WithResource("placements"), grouped, nil, []string{"shop: {tier=own}"}},
		{group.WithResource("placements"), selecting("gold", "iron"), selecting("gold"), []string{
			"shop: {tier=gold} {tier=iron}"}},
	} {
		var told warned
		ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &told)
		a := admission.NewAttributesRecord(c.now, c.old, c.of.GroupVersion().WithKind("X"), "app", "x", c.of, "",
			admission.Update, nil, false, nil)
		if err := plugin.Validate(ctx, a, nil); err != nil || !slices.Equal(told, c.want) {
			t.Errorf("%s: %v after %v: %q, %v, want %q", c.of.Resource, c.now, c.old, told, err, c.want)
		}
	}
}

func TestATargetThatIsToBeLeftAndIsNotIsWarnedOf(t *testing.T) {
	object := func(word string) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x",
			"annotations": map[string]any{v1alpha1.AnnotationEvict: word}}}}
	}
	plugin := NoSuchTarget{Unknown: func(space string, names []string, _ []labels.Selector) string {
		if slices.Contains(names, "rome") {
			return ""
		}
		return "no " + strings.Join(names, " ") + "; there is rome"
	}}
	for _, c := range []struct {
		now, old runtime.Object
		want     int
	}{
		{object("nosuch"), nil, 1},
		{object("rome,nosuch"), object("rome"), 1},
		{object("nosuch"), object("nosuch"), 0},
		{object("rome"), nil, 0},
		{object("a,b"), nil, 2},
	} {
		var said warned
		ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &said)
		a := admission.NewAttributesRecord(c.now, c.old, schema.GroupVersionKind{}, "", "x",
			schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", admission.Update, nil, false, nil)
		if err := plugin.Validate(ctx, a, nil); err != nil || len(said) != c.want ||
			c.want > 0 && !strings.Contains(said[0], "there is rome") {
			t.Errorf("%v: %v %v", c.now, said, err)
		}
	}
}
