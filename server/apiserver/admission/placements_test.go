package admission

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

func TestPlacementsBelongWhereTheySpeak(t *testing.T) {
	for _, c := range []struct {
		space, name string
		op          admission.Operation
		sub         string
		spec        map[string]any
		want        string // of the error; empty: accepted
	}{
		{"root", "p", admission.Create, "", map[string]any{}, "spec.spaceSelector: is needed in root"},
		{"root", "p", admission.Update, "", map[string]any{}, "write {} for all spaces"},
		{"root", "p", admission.Create, "", map[string]any{"spaceSelector": map[string]any{}}, ""},
		{"root", "p", admission.Create, "", map[string]any{"spaceSelector": map[string]any{}, "precedence": "Override"}, ""},
		{"root", "p", admission.Update, "status", map[string]any{}, ""},
		{"shop", "p", admission.Create, "", map[string]any{"spaceSelector": map[string]any{}}, "speaks for that space alone"},
		{"shop", "p", admission.Update, "", map[string]any{"precedence": "Override"}, "spec.precedence: only"},
		{"shop", "p", admission.Create, "", map[string]any{}, ""},
		{"shop", "root.p", admission.Create, "", map[string]any{}, "choose another name"},
		{"shop", "root.p", admission.Update, "", map[string]any{}, "the Placement p of root"},
		{"shop", "root.p", admission.Update, "status", map[string]any{}, "the Placement p of root"},
		{"shop", "root.p", admission.Delete, "", nil, "the Placement p of root"},
		{"shop", "rootp", admission.Delete, "", nil, ""},
		{"shop", "p", admission.Create, "", callsHook("https://169.254.169.254/x"), "beforeLeaving[1].webhook.url: "},
		{"shop", "p", admission.Update, "", callsHook("https://[::1]:1"), "beforeLeaving[1].webhook.url: "},
		{"shop", "p", admission.Create, "", callsHook("https://hooks.example.com"), ""},
	} {
		var obj runtime.Object
		if c.spec != nil {
			obj = &unstructured.Unstructured{
				Object: map[string]any{"metadata": map[string]any{"name": c.name}, "spec": c.spec},
			}
		}
		gvk := v1alpha1.GroupVersion.WithKind("Placement")
		a := admission.NewAttributesRecord(
			obj,
			nil,
			gvk,
			"",
			c.name,
			v1alpha1.GroupVersion.WithResource("placements"),
			c.sub,
			c.op,
			nil,
			false,
			nil,
		)
		err := Placements{CheckURL: onlyNames}.Validate(request.WithSpace(t.Context(), c.space), a, nil)
		if got := errorText(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s/%s: %q, want %q", c.space, c.op, c.name, c.sub, got, c.want)
		}
	}
}

// onlyNames refuses addresses.
func onlyNames(text string) error {
	u, err := url.Parse(text)
	if _, not := netip.ParseAddr(u.Hostname()); err == nil && not == nil {
		return errors.New("an address")
	}
	return err
}

// callsHook is a spec whose second hook is a webhook by URL.
func callsHook(url string) map[string]any {
	return map[string]any{"move": map[string]any{"beforeLeaving": []any{
		map[string]any{"job": map[string]any{}}, map[string]any{"webhook": map[string]any{"url": url}}}}}
}

// TestPoliciesAreNotDeletedWithAllOthers: the deletion of a collection names no object, and asks about each
// with the object alone.
func TestPoliciesAreNotDeletedWithAllOthers(t *testing.T) {
	for name, refused := range map[string]bool{"root.p": true, "p": false} {
		old := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
		a := admission.NewAttributesRecord(nil, old, v1alpha1.GroupVersion.WithKind("Placement"), "", "",
			v1alpha1.GroupVersion.WithResource("placements"), "", admission.Delete, nil, false, nil)
		if err := (Placements{}).Validate(request.WithSpace(t.Context(), "shop"), a, nil); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
