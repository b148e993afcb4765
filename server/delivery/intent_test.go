package delivery

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// intended reports whether the tombstone of a key on a target is one that the target need not ask
// about.
func (c *center) intended(target string, k store.Key) bool {
	e, ok := c.d.Feed(target).Get(k)
	return ok && e.Tombstone && (e.Intended || c.d.Feed(target).Intended(k))
}

// What moves is no loss for the target that it leaves; what is deleted is, unless it was announced.
func TestOnlyWhatIsLostIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		moved, deleted, announced := c.configMap("moved"), c.configMap("deleted"), c.configMap("announced")
		c.eventually("on a", func() bool { return c.has("a", moved) && c.has("a", deleted) && c.has("a", announced) })
		c.put(deleted, nil)
		c.d.Intend(announced)
		c.put(announced, nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on b", func() bool { return c.has("b", moved) })
		c.report("b", moved, nil)
		c.eventually("off a", func() bool { return !c.has("a", moved) })
		for k, want := range map[store.Key]bool{moved: true, nsKey("app"): true, deleted: false, announced: true} {
			if got := c.intended("a", k); got != want {
				t.Errorf("%s: intended %t, want %t", k, got, want)
			}
		}
		again := c.configMap("announced") // an announcement is for one deletion
		c.eventually("on b", func() bool { return c.has("b", again) })
		c.put(again, nil)
		if c.intended("b", again) {
			t.Error("a second deletion counts as announced")
		}
	})
}

// A target that is being removed with Discard is emptied, over a restart too, and nothing comes back
// to it.
func TestRemovedTargetIsEmptied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		cm := c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", cm) && c.has("a", nsKey("app")) })
		leaving := map[string]any{
			"name":              "a",
			"deletionTimestamp": "2026-01-01T00:00:00Z",
			"finalizers":        []any{v1alpha1.FinalizerDetach},
		}
		c.put(
			rootKey("synctargets", "a"),
			obj("skerry.dev/v1alpha1", "SyncTarget", leaving, "spec", map[string]any{"detachPolicy": "Discard"}),
		)
		c.eventually("a is empty", func() bool {
			return c.d.Feed("a").Len() == 0 && c.intended("a", cm) && c.intended("a", nsKey("app"))
		})
		other := c.configMap("two")
		c.restart()
		c.configMap("three")
		if c.d.Feed("a").Len() != 0 || !c.d.Feed("a").Intended(cm) || c.has("a", other) {
			t.Errorf("%d objects are back after a restart", c.d.Feed("a").Len())
		}
		c.eventually("the decision is revised", func() bool { return c.annotation(nsKey("app")) == "" })
	})
}

// deletionAsked records that a user asked for the deletion of an object by its name, as the kube
// API does before the deletion.
func (c *center) deletionAsked(k store.Key) {
	c.mu.Lock()
	uid := c.objects[k]["metadata"].(map[string]any)["uid"].(string)
	c.mu.Unlock()
	c.put(
		store.Key{Space: k.Space, Group: "skerry.dev", Resource: "deletions", Name: uid},
		obj("skerry.dev/v1alpha1", "Deletion", meta(uid), "key", map[string]any{
			"Space": k.Space, "Group": k.Group, "Resource": k.Resource, "Namespace": k.Namespace, "Name": k.Name}),
	)
}

// What a user deletes by its name, or with a Namespace that he deletes by its name, is no mistake;
// what goes otherwise may be one. A restart forgets none of it, and the word is for the very object
// that was named.
func TestWhatIsDeletedByNameIsIntended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		c.namespace("whole", map[string]any{v1alpha1.LabelTarget: "a"})
		named, lost, inside := c.configMap("named"), c.configMap("lost"), key("", "configmaps", "inside")
		inside.Namespace = "whole"
		c.put(inside, obj("v1", "ConfigMap", map[string]any{"name": "inside", "namespace": "whole"}))
		c.eventually("on a", func() bool { return c.has("a", named) && c.has("a", lost) && c.has("a", inside) })
		c.deletionAsked(named)
		c.put(named, nil)
		c.put(lost, nil)
		c.deletionAsked(nsKey("whole"))
		c.change(nsKey("whole"), map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"})
		c.put(inside, nil)
		c.put(nsKey("whole"), nil)
		want := map[store.Key]bool{named: true, inside: true, nsKey("whole"): true, lost: false}
		for k, intended := range want {
			if got := c.intended("a", k); got != intended {
				t.Errorf("%s: intended %t, want %t", k, got, intended)
			}
		}
		c.restart()
		c.reset()
		for k, intended := range want {
			if got := c.d.Feed("a").Intended(k); got != intended {
				t.Errorf("%s after a restart: intended %t, want %t", k, got, intended)
			}
		}
		again := named
		c.put(again, obj("v1", "ConfigMap", map[string]any{"name": "named", "namespace": "app", "uid": "another"}))
		c.eventually("on a again", func() bool { return c.has("a", again) })
		c.put(again, nil)
		if c.intended("a", again) {
			t.Error("an object that was made anew counts as named")
		}
	})
}

// A user who deletes a definition by its name has named its objects, one who deletes a workload
// what only that needed. What goes otherwise may be a mistake, as ever.
func TestWhatGoesWithWhatWasNamedIsIntended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		account := func(name string) store.Key {
			k := key("", "serviceaccounts", name)
			c.put(k, obj("v1", "ServiceAccount", map[string]any{"name": name, "namespace": "app"}))
			return k
		}
		workload := func(name string) store.Key {
			k := key("apps", "deployments", name)
			pod := map[string]any{"spec": map[string]any{"serviceAccountName": name}}
			c.put(k, obj("apps/v1", "Deployment", map[string]any{"name": name, "namespace": "app"},
				"spec", map[string]any{"template": pod}))
			return k
		}
		define := func(plural string) (definition, one store.Key) {
			definition = store.Key{
				Space: "shop", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
				Name: plural + ".example.com",
			}
			c.put(definition, obj("apiextensions.k8s.io/v1", "CustomResourceDefinition",
				map[string]any{"name": definition.Name}, "spec", map[string]any{}))
			one = key("example.com", plural, "one")
			c.put(one, obj("example.com/v1", plural, map[string]any{"name": "one", "namespace": "app"}))
			return definition, one
		}
		needed, lost := account("named"), account("lost")
		named, other := workload("named"), workload("lost")
		boats, boat := define("boats")
		trains, train := define("trains")
		awaited := boat
		awaited.Name = "awaited"
		c.put(awaited, obj("example.com/v1", "boats", map[string]any{"name": "awaited", "namespace": "app"}))
		want := map[store.Key]bool{
			named: true, needed: true, boats: true, boat: true, awaited: true,
			other: false, lost: false, trains: false, train: false,
		}
		c.eventually("all of it is on a", func() bool {
			for k := range want {
				if !c.has("a", k) {
					return false
				}
			}
			return true
		})
		for _, k := range []store.Key{named, boats} {
			c.deletionAsked(k)
		}
		for _, k := range []store.Key{boats, trains, awaited} {
			c.change(k, map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"})
		}
		for _, k := range []store.Key{named, other, boat, train, trains} {
			c.put(k, nil)
		}
		for k, intended := range want {
			if got := c.intended("a", k); got != intended {
				t.Errorf("%s: intended %t, want %t", k, got, intended)
			}
		}
	})
}
