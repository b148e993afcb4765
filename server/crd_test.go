package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// gadgets defines a cluster-scoped resource of its own group.
func gadgets(group string) (*unstructured.Unstructured, schema.GroupVersionResource) {
	def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets."+group)
	spec := crd("v1")
	spec["group"], spec["scope"] = group, "Cluster"
	spec["names"] = map[string]any{
		"kind":     "Gadget",
		"listKind": "GadgetList",
		"plural":   "gadgets",
		"singular": "gadget",
	}
	def.Object["spec"] = spec
	return def, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gadgets"}
}

func established(t *testing.T, d dynamic.Interface, name string) bool {
	def, err := d.Resource(crdsGVR).Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	conditions, _, _ := unstructured.NestedSlice(def.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// TestCustomResourceAtOnce: what a definition defines is served when it says so, and who does not
// wait for that is waited for. The first definition of a space starts its server, the last to go
// stops it.
func TestCustomResourceAtOnce(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.createSpace("one", "Retain")
	d := dyn(t, c.admin("one"))
	ctx := t.Context()
	for i := range 4 {
		def, gvr := gadgets(fmt.Sprintf("g%d.example.com", i))
		_, err := d.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
		must(t, err)
		if i%2 == 0 {
			within(t, time.Minute, "Established", func() bool { return established(t, d, def.GetName()) })
			list, err := clients(
				t,
				c.admin("one"),
			).Discovery().ServerResourcesForGroupVersion(
				gvr.GroupVersion().String(),
			)
			if err != nil || len(list.APIResources) == 0 {
				t.Errorf("%s is established and not in discovery: %v", gvr.Group, err)
			}
			groups, err := clients(t, c.admin("one")).Discovery().ServerGroups()
			must(t, err)
			found := false
			for _, g := range groups.Groups {
				found = found || g.Name == gvr.Group
			}
			if !found {
				t.Errorf("group %s is established and not listed", gvr.Group)
			}
		}
		if _, err = d.Resource(gvr).List(ctx, metav1.ListOptions{}); err != nil {
			t.Errorf("list gadgets %d: %v", i, err)
		}
		if _, err = d.Resource(gvr).Create(
			ctx,
			object(gvr.GroupVersion().String(), "Gadget", "", "x"),
			metav1.CreateOptions{},
		); err != nil {
			t.Errorf("create gadget %d: %v", i, err)
		}
		must(t, d.Resource(crdsGVR).Delete(ctx, def.GetName(), metav1.DeleteOptions{}))
		within(t, time.Minute, "deletion of the definition", func() bool {
			_, err := d.Resource(crdsGVR).Get(ctx, def.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	notWaitedFor(t, d)
}

// notWaitedFor: what will not be served is not found at once: it would be waited for for 5 s.
func notWaitedFor(t *testing.T, d dynamic.Interface) {
	ctx := t.Context()
	first, gvr := gadgets("g.example.com")
	_, err := d.Resource(crdsGVR).Create(ctx, first, metav1.CreateOptions{})
	must(t, err)
	within(t, time.Minute, "Established", func() bool { return established(t, d, first.GetName()) })
	// Another of the same group and kind, whose names are refused.
	second, _ := gadgets("g.example.com")
	second.SetName("others.g.example.com")
	must(t, unstructured.SetNestedField(second.Object, "others", "spec", "names", "plural"))
	_, err = d.Resource(crdsGVR).Create(ctx, second, metav1.CreateOptions{})
	must(t, err)
	within(t, time.Minute, "refusal of the names", func() bool {
		def, err := d.Resource(crdsGVR).Get(ctx, second.GetName(), metav1.GetOptions{})
		must(t, err)
		return strings.Contains(fmt.Sprint(def.Object["status"]), "KindConflict")
	})
	_, other := gadgets("none.example.com")
	refused, old := gvr, gvr
	refused.Resource, old.Version = "others", "v0"
	for what, list := range map[string]func() error{
		"no definition":   func() error { _, err := d.Resource(other).List(ctx, metav1.ListOptions{}); return err },
		"refused names":   func() error { _, err := d.Resource(refused).List(ctx, metav1.ListOptions{}); return err },
		"another version": func() error { _, err := d.Resource(old).List(ctx, metav1.ListOptions{}); return err },
		"another scope": func() error {
			_, err := d.Resource(gvr).Namespace("default").List(ctx, metav1.ListOptions{})
			return err
		},
	} {
		at := time.Now()
		if err := list(); !apierrors.IsNotFound(err) || time.Since(at) > 4*time.Second {
			t.Errorf("%s: %v after %s", what, err, time.Since(at))
		}
	}
}

// TestReservedGroups: definitions in groups of Kubernetes are refused with words, but for approved
// ones.
func TestReservedGroups(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.createSpace("one", "Retain")
	d := dyn(t, c.admin("one")).Resource(crdsGVR)
	for group, want := range map[string]string{
		"metrics.k8s.io":       "clusters serve metrics.k8s.io themselves",
		"apiextensions.k8s.io": "clusters serve apiextensions.k8s.io themselves",
		"shop.k8s.io":          "belong to Kubernetes", "apps": "should be a domain with at least one dot",
		"skerry.dev": "belongs to the center",
	} {
		def, _ := gadgets(group)
		def.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, but mine"})
		if _, err := d.Create(t.Context(), def, metav1.CreateOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", group, err)
		}
	}
	def, _ := gadgets("gateway.networking.k8s.io")
	def.SetAnnotations(
		map[string]string{"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/1"},
	)
	_, err := d.Create(t.Context(), def, metav1.CreateOptions{})
	check(t, err)
}
