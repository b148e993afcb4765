package server_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// sharedDefinition is one of group stable.example.com.
func sharedDefinition(plural, kind string, fields ...string) *unstructured.Unstructured {
	props := map[string]any{}
	for _, f := range fields {
		props[f] = map[string]any{"type": "string"}
	}
	def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", plural+".stable.example.com")
	def.Object["spec"] = map[string]any{"group": "stable.example.com", "scope": "Namespaced",
		"names": map[string]any{
			"kind":     kind,
			"listKind": kind + "List",
			"plural":   plural,
			"singular": strings.ToLower(kind),
		},
		"versions": []any{
			map[string]any{
				"name":    "v1",
				"served":  true,
				"storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": props}}}},
			},
		}}
	return def
}

// borrowedAPIs: a space is served with the definitions of another one, with objects of its own, and
// nothing is taken away that these are made of.
func borrowedAPIs(t *testing.T, c *center) {
	ctx := t.Context()
	for _, space := range []string{"platform", "borrower"} {
		c.createSpace(space, "Delete")
	}
	root, lender, borrower := dyn(
		t,
		c.admin("root"),
	).Resource(
		spacesGVR,
	), dyn(
		t,
		c.admin("platform"),
	), dyn(
		t,
		c.admin("borrower"),
	)
	boats := boatsV1
	patch := func(name, body string) error {
		_, err := root.Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	refused := func(what string, err error, says string) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	borrow := `{"spec":{"apis":[{"fromSpace":"platform","group":"stable.example.com"}]}}`
	refused("nothing to borrow", patch("borrower", borrow), "space platform defines nothing in group")
	refused("from itself", patch("platform", borrow), "name another space")
	for _, def := range []*unstructured.Unstructured{
		sharedDefinition("boats", "Boat", "name"),
		func() *unstructured.Unstructured {
			other := sharedDefinition("secrets", "Secret", "hidden")
			other.SetName("secrets.other.example.com")
			unstructured.SetNestedField(other.Object, "other.example.com", "spec", "group")
			return other
		}(),
	} {
		_, err := lender.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
		must(t, err)
	}
	refused(
		"without the lender's word",
		patch("borrower", borrow),
		"kubectl annotate crd boats.stable.example.com skerry.dev/shared=true",
	)
	shared := `{"metadata":{"annotations":{"skerry.dev/shared":"true"}}}`
	_, err := lender.Resource(
		crdsGVR,
	).Patch(
		ctx,
		"boats.stable.example.com",
		types.MergePatchType,
		[]byte(shared),
		metav1.PatchOptions{},
	)
	must(t, err)
	must(t, patch("borrower", borrow))
	if err := patch(
		"borrower",
		`{"spec":{"apis":[{"fromSpace":"platform","group":"stable.example.com","version":"v1"}]}}`,
	); err == nil {
		got, _ := root.Get(ctx, "borrower", metav1.GetOptions{})
		if apis, _, _ := unstructured.NestedSlice(got.Object, "spec", "apis"); len(apis) != 1 ||
			len(apis[0].(map[string]any)) != 2 {
			t.Errorf("a field without a meaning is kept: %v", apis)
		}
	}

	// Objects of equal names, each in its space.
	boat := func(name string) *unstructured.Unstructured {
		b := object("stable.example.com/v1", "Boat", "", "one")
		b.Object["spec"] = map[string]any{"name": name}
		return b
	}
	boatsOf := map[string]dynamic.ResourceInterface{
		"platform": lender.Resource(boats).Namespace("default"),
		"borrower": borrower.Resource(boats).Namespace("default"),
	}
	for space, to := range boatsOf {
		within(t, 60*time.Second, "boats in "+space, func() bool {
			_, err := to.Create(ctx, boat("of "+space), metav1.CreateOptions{})
			return err == nil
		})
	}
	watch, err := borrower.Resource(boats).Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer watch.Stop()
	for space, from := range boatsOf {
		list, err := from.List(ctx, metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 1 || list.Items[0].Object["spec"].(map[string]any)["name"] != "of "+space {
			t.Errorf("boats in %s: %v", space, list.Items)
		}
	}
	_, err = borrower.Resource(boats).Namespace("default").Patch(
		ctx,
		"one",
		types.ApplyPatchType,
		[]byte(
			`{"apiVersion":"stable.example.com/v1","kind":"Boat","metadata":{"name":"one","labels":{"a":"b"}}}`,
		),
		metav1.PatchOptions{FieldManager: "test"},
	)
	must(t, err)
	for _, e := range []string{"ADDED", "MODIFIED"} {
		if got := <-watch.ResultChan(); string(got.Type) != e ||
			got.Object.(*unstructured.Unstructured).Object["spec"].(map[string]any)["name"] != "of borrower" {
			t.Errorf("the borrower's watch: %s %v", got.Type, got.Object)
		}
	}
	borrowedDocuments(t, c)

	// A change of the definition reaches the borrower.
	next := sharedDefinition("boats", "Boat", "name", "color")
	body, err := next.MarshalJSON()
	must(t, err)
	_, err = lender.Resource(crdsGVR).Patch(ctx, next.GetName(), types.MergePatchType, body, metav1.PatchOptions{})
	must(t, err)
	within(t, 60*time.Second, "the new field in the borrower", func() bool {
		got, err := borrower.Resource(
			boats,
		).Namespace(
			"default",
		).Patch(
			ctx,
			"one",
			types.MergePatchType,
			[]byte(`{"spec":{"color":"red"}}`),
			metav1.PatchOptions{},
		)
		return err == nil && got.Object["spec"].(map[string]any)["color"] == "red"
	})

	// What is in use stays.
	refused(
		"the group is given back",
		patch("borrower", `{"spec":{"apis":null}}`),
		"the space holds boats.stable.example.com; delete them first",
	)
	refused(
		"the definition goes",
		lender.Resource(crdsGVR).Delete(ctx, "boats.stable.example.com", metav1.DeleteOptions{}),
		"space borrower holds objects of it",
	)
	refused(
		"all definitions go",
		lender.Resource(
			crdsGVR,
		).DeleteCollection(
			ctx,
			metav1.DeleteOptions{},
			metav1.ListOptions{FieldSelector: "metadata.name=boats.stable.example.com"},
		),
		"space borrower holds objects of it",
	)
	_, err = lender.Resource(
		crdsGVR,
	).Patch(
		ctx,
		"boats.stable.example.com",
		types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"skerry.dev/shared":null}}}`),
		metav1.PatchOptions{},
	)
	refused("the word is taken back", err, "is shared with space borrower")
	_, err = lender.Resource(crdsGVR).Create(ctx, sharedDefinition("ships", "Ship", "name"), metav1.CreateOptions{})
	refused("a definition of the group without the word", err, "annotate this one")
	_, err = borrower.Resource(crdsGVR).Create(ctx, sharedDefinition("ships", "Ship", "name"), metav1.CreateOptions{})
	refused("a definition of the borrower's", err, "is served with the definitions of space platform")
	refused(
		"the lender goes",
		root.Delete(ctx, "platform", metav1.DeleteOptions{}),
		"its definitions serve space borrower",
	)

	definitionInUse(t, c)

	// And goes when it is not in use any more; what the lender has stays.
	must(t, borrower.Resource(boats).Namespace("default").Delete(ctx, "one", metav1.DeleteOptions{}))
	within(
		t,
		60*time.Second,
		"the group is given back",
		func() bool { return patch("borrower", `{"spec":{"apis":null}}`) == nil },
	)
	within(t, 60*time.Second, "boats are unknown", func() bool {
		_, err := borrower.Resource(boats).List(ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	})
	_, err = lender.Resource(boats).Namespace("default").Get(ctx, "one", metav1.GetOptions{})
	check(t, err)

	// A lender whose deletion was asked for when nobody borrowed of it yet stays as long as
	// somebody does.
	must(t, patch("borrower", borrow))
	must(t, dyn(t, c.api.Loopback("root")).Resource(spacesGVR).Delete(ctx, "platform", metav1.DeleteOptions{}))
	within(
		t,
		60*time.Second,
		"the lender says why it does not go",
		func() bool { return says(root, "platform", "its definitions serve space borrower") },
	)
	must(t, patch("borrower", `{"spec":{"apis":null}}`))
	refused("from one that is about to go", patch("borrower", borrow), "name another space that exists")
	within(t, 60*time.Second, "the lender goes at last", func() bool {
		_, err := root.Get(ctx, "platform", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// says reports whether a condition of an object has a message.
func says(of dynamic.ResourceInterface, name, message string) bool {
	got, err := of.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		text, _ := c.(map[string]any)["message"].(string)
		return strings.Contains(text, message)
	})
}

// definitionInUse: a definition whose deletion was asked for when the borrower had no object of it
// yet stays as long as there is one, with what the lender has.
func definitionInUse(t *testing.T, c *center) {
	ctx := t.Context()
	ships := boatsV1
	ships.Resource = "ships"
	lender, borrower := dyn(t, c.admin("platform")), dyn(t, c.admin("borrower"))
	def := sharedDefinition("ships", "Ship", "name")
	def.SetAnnotations(map[string]string{"skerry.dev/shared": "true"})
	_, err := lender.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
	must(t, err)
	for _, to := range []dynamic.Interface{lender, borrower} {
		within(t, 60*time.Second, "a ship", func() bool {
			_, err := to.Resource(
				ships,
			).Namespace(
				"default",
			).Create(
				ctx,
				object("stable.example.com/v1", "Ship", "", "one"),
				metav1.CreateOptions{},
			)
			return err == nil
		})
	}
	// The center itself is not asked whether it may.
	must(t, dyn(t, c.api.Loopback("platform")).Resource(crdsGVR).Delete(ctx, def.GetName(), metav1.DeleteOptions{}))
	within(t, 60*time.Second, "the definition says why it does not go", func() bool {
		return says(lender.Resource(crdsGVR), def.GetName(), "space borrower holds objects of it")
	})
	_, err = lender.Resource(ships).Namespace("default").Get(ctx, "one", metav1.GetOptions{})
	must(t, err)
	must(t, borrower.Resource(ships).Namespace("default").Delete(ctx, "one", metav1.DeleteOptions{}))
	within(t, 60*time.Second, "the definition goes", func() bool {
		_, err := lender.Resource(crdsGVR).Get(ctx, def.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// borrowedDocuments: discovery and OpenAPI of the borrower have what is borrowed, and nothing else
// of the lender.
func borrowedDocuments(t *testing.T, c *center) {
	api := clients(t, c.admin("borrower")).Discovery()
	_, resources, err := api.ServerGroupsAndResources()
	must(t, err)
	var found []string
	for _, l := range resources {
		for _, r := range l.APIResources {
			if strings.HasSuffix(l.GroupVersion, "example.com/v1") {
				found = append(found, l.GroupVersion+"/"+r.Name)
			}
		}
	}
	if strings.Join(found, " ") != "stable.example.com/v1/boats" {
		t.Errorf("discovery has %v", found)
	}
	for path, want := range map[string]struct{ has, hasNo string }{
		"/apis":       {"stable.example.com", "other.example.com"},
		"/openapi/v2": {"com.example.stable.v1.Boat\"", "com.example.other"},
		"/openapi/v3": {
			"/clusters/borrower/openapi/v3/apis/stable.example.com/v1",
			"other.example.com",
		},
		"/openapi/v3/apis/stable.example.com/v1": {"com.example.stable.v1.Boat\"", "com.example.other"},
	} {
		within(t, 60*time.Second, path+" of the borrower", func() bool {
			body, err := api.RESTClient().Get().AbsPath(
				path,
			).SetHeader(
				"Accept",
				"application/json",
			).Do(
				t.Context(),
			).Raw()
			if strings.Contains(string(body), want.hasNo) {
				t.Fatalf("%s shows what is not borrowed", path)
			}
			return err == nil && strings.Contains(string(body), want.has)
		})
	}
	for _, path := range []string{
		"/openapi/v3/apis/other.example.com/v1",
		"/apis/other.example.com",
		"/apis/other.example.com/v1",
		"/apis/other.example.com/v1/secrets",
	} {
		if err := api.RESTClient().Get().AbsPath(path).Do(t.Context()).Error(); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
