package server_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/store"
)

// What a user deletes by its name is recorded before it goes: an object that is placed, a Namespace,
// and a definition. What goes with a collection, what nobody placed and what is only tried is not.
func TestDeletionsByNameAreRecorded(t *testing.T) {
	ctx := t.Context()
	c := start(
		t,
		t.TempDir(),
		newAuthority(t),
		func(_ context.Context, _ string, k store.Key, _ metav1.Object) (targets, unit string) {
			return placedIf(k.Resource == "configmaps" && k.Name != "unplaced", "here")
		},
	)
	c.createSpace("shop", "Delete")
	api := clients(t, c.admin("shop")).CoreV1()
	_, err := api.Namespaces().Create(
		ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}},
		metav1.CreateOptions{},
	)
	must(t, err)
	uids := map[string]string{}
	for _, name := range []string{"named", "tried", "unplaced", "collected", "kept"} {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
		if name == "kept" {
			m.Finalizers = []string{"example.com/kept"}
		}
		m, err := api.ConfigMaps("app").Create(ctx, m, metav1.CreateOptions{})
		must(t, err)
		uids[name] = string(m.UID)
	}
	must(t, api.ConfigMaps("app").Delete(ctx, "named", metav1.DeleteOptions{}))
	must(t, api.ConfigMaps("app").Delete(ctx, "kept", metav1.DeleteOptions{}))
	must(t, api.ConfigMaps("app").Delete(ctx, "tried", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	must(t, api.ConfigMaps("app").Delete(ctx, "unplaced", metav1.DeleteOptions{}))
	must(
		t,
		api.ConfigMaps(
			"app",
		).DeleteCollection(
			ctx,
			metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: "name=collected"},
		),
	)
	records := func() map[string]bool {
		got, err := c.store.Client().Client.Get(
			ctx,
			"/registry/skerry.dev/deletions/shop/",
			clientv3.WithPrefix(),
			clientv3.WithKeysOnly(),
		)
		must(t, err)
		found := map[string]bool{}
		for _, kv := range got.Kvs {
			found[string(kv.Key)[len("/registry/skerry.dev/deletions/shop/"):]] = true
		}
		return found
	}
	found := records()
	for name, want := range map[string]bool{
		"named":     true,
		"kept":      true,
		"tried":     false,
		"unplaced":  false,
		"collected": false,
	} {
		if found[uids[name]] != want {
			t.Errorf("the deletion of %s is recorded: %t, want %t", name, found[uids[name]], want)
		}
	}
	definition := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com")
	definition.Object["spec"] = crd("v1")
	definitions := dyn(t, c.admin("shop")).Resource(crdsGVR)
	definition, err = definitions.Create(ctx, definition, metav1.CreateOptions{})
	must(t, err)
	must(t, definitions.Delete(ctx, definition.GetName(), metav1.DeleteOptions{}))
	if !records()[string(definition.GetUID())] {
		t.Error("the deletion of the definition is not recorded")
	}
	owner, err := api.ConfigMaps("app").Get(ctx, "kept", metav1.GetOptions{})
	must(t, err)
	app, err := api.Namespaces().Get(ctx, "app", metav1.GetOptions{})
	must(t, err)
	must(t, api.Namespaces().Delete(ctx, "app", metav1.DeleteOptions{}))
	if !records()[string(app.UID)] {
		t.Error("the deletion of the Namespace is not recorded")
	}
	owner.Finalizers = nil
	_, err = api.ConfigMaps("app").Update(ctx, owner, metav1.UpdateOptions{})
	must(t, err)
	within(t, time.Minute, "the namespace is gone", func() bool {
		_, err := api.Namespaces().Get(ctx, "app", metav1.GetOptions{})
		return err != nil
	})
	if records()[uids["tried"]] {
		t.Error("what goes with its Namespace has a record of its own")
	}
}
