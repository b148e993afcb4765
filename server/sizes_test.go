package server_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/store"
)

// sizes: what could not be sent to a site is refused when it is written, in words. What can be
// stays.
func sizes(t *testing.T, c *center) {
	ctx, core := t.Context(), clients(t, c.admin("team")).CoreV1().ConfigMaps("default")
	tooLarge := func(what string, err error) {
		t.Helper()
		if !apierrors.IsRequestEntityTooLargeError(err) ||
			!strings.Contains(err.Error(), "the limit is 1507328 bytes") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A quote takes two bytes of JSON, so that a ConfigMap within Kubernetes' limit is more than
	// can be sent.
	_, err := core.Create(
		ctx,
		configMap("quotes", map[string]string{"a": strings.Repeat(`"`, 800<<10)}),
		metav1.CreateOptions{},
	)
	tooLarge("a ConfigMap of quotes", err)
	fits := configMap("fits", map[string]string{"a": strings.Repeat("x", 1000<<10)})
	_, err = core.Create(ctx, fits, metav1.CreateOptions{})
	must(t, err)
	_, err = core.Patch(
		ctx,
		"fits",
		types.JSONPatchType,
		[]byte(`[{"op":"copy","from":"/data/a","path":"/data/b"}]`),
		metav1.PatchOptions{},
	)
	if err == nil {
		t.Error("a patch doubled it")
	}

	widget := func(name string, n int) *unstructured.Unstructured {
		u := object(widgets("team").GroupVersion().String(), "Widget", "default", name)
		must(t, unstructured.SetNestedField(u.Object, strings.Repeat("x", n), "spec", "v1"))
		return u
	}
	def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com")
	def.Object["spec"] = crd("v1")
	_, err = dyn(t, c.admin("team")).Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
	must(t, err)
	bigs := dyn(t, c.admin("team")).Resource(widgets("team")).Namespace("default")
	_, err = bigs.Create(ctx, widget("big", 1600<<10), metav1.CreateOptions{})
	tooLarge("a custom resource", err)
	largest := widget("largest", store.MaxObjectBytes-1000)
	made, err := bigs.Create(ctx, largest, metav1.CreateOptions{})
	must(t, err)
	body, err := customize.Render(
		made.Object,
		customize.Origin{
			Space:     strings.Repeat("s", 63),
			Placement: strings.Repeat("p", 253),
			UID:       string(made.GetUID()),
		},
	)
	if must(t, err); len(body) > store.MaxBodyBytes {
		t.Errorf("the largest becomes %d bytes", len(body))
	}
	_, err = bigs.Patch(
		ctx,
		"largest",
		types.MergePatchType,
		[]byte(`{"spec":{"v1":"`+strings.Repeat("y", store.MaxObjectBytes)+`"}}`),
		metav1.PatchOptions{},
	)
	tooLarge("it grows", err)

	// One that has grown by the center's hand may still change, and go.
	own := dyn(t, c.api.Loopback("team")).Resource(widgets("team")).Namespace("default")
	_, err = own.Create(ctx, widget("grown", 1550<<10), metav1.CreateOptions{})
	must(t, err)
	_, err = bigs.Patch(
		ctx,
		"grown",
		types.MergePatchType,
		[]byte(`{"spec":{"v1":"`+strings.Repeat("y", 1540<<10)+`"}}`),
		metav1.PatchOptions{},
	)
	check(t, err)
	_, err = own.Create(ctx, widget("far", 2100<<10), metav1.CreateOptions{})
	if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "managedFields") {
		t.Errorf("larger than the store takes: %v", err)
	}
	for _, name := range []string{"largest", "grown"} {
		check(t, bigs.Delete(ctx, name, metav1.DeleteOptions{}))
	}
	check(t, core.Delete(ctx, "fits", metav1.DeleteOptions{}))
}
