package delivery

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// removal is how the tombstone of a key removes on a target; false when there is none.
func (c *center) removal(target string, k store.Key) (store.Removal, bool) {
	e, ok := c.d.Feed(target).Get(k)
	return e.Removal, ok && e.Tombstone
}

func (c *center) wantRemoval(target string, k store.Key, want store.Removal) {
	c.t.Helper()
	if got, ok := c.removal(target, k); !ok || got != want {
		c.t.Errorf("%s leaves %s by %s (%v), want %s", k, target, got, ok, want)
	}
}

var orphan = map[string]any{"sync": map[string]any{"whenPlacementDeleted": "Orphan"}}

func TestWhatAPlacementOrphansStaysWithAllThatItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "b"})
		c.placement("p", 1, []any{"a"}, orphan)
		cm := c.configMap("one")
		web := c.deployment("web", map[string]any{"app": "web"}, "one")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", cm) && c.has("b", cm) })
		c.placement("p", 2, []any{"b"}, orphan)
		c.eventually("off a", func() bool {
			if c.has("b", web) {
				c.mayReport("b", web, nil)
			}
			return !c.has("a", web)
		})
		c.wantRemoval("a", web, store.RemoveOrphan)
		c.wantRemoval("a", cm, store.RemoveOrphan)
		c.wantRemoval("a", nsKey("app"), store.RemoveOrphan)
		c.put(web, nil)
		c.wantRemoval("b", web, store.RemoveDelete)
	})
}

func TestADeletedPlacementLetsGoByItsPolicy(t *testing.T) {
	for policy, want := range map[string]store.Removal{"Orphan": store.RemoveOrphan, "Clean": store.RemoveDelete} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCenter(t)
				c.target("a", nil)
				c.put(
					rootKey("spaces", "shop"),
					obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{}),
				)
				c.run()
				c.namespace("app", nil)
				p := c.placement("p", 1, []any{"a"}, map[string]any{"sync": map[string]any{"whenPlacementDeleted": policy}})
				web := c.deployment("web", map[string]any{"app": "web"}, "")
				c.eventually("on a", func() bool { return c.has("a", web) && c.annotation(web) == "a" })
				c.put(p, nil)
				c.eventually("off a", func() bool { return !c.has("a", web) })
				c.wantRemoval("a", web, want)
				c.wantRemoval("a", nsKey("app"), want)
			})
		})
	}
}

func TestWhatAParentOrphansARelayOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		cm := key("", "configmaps", "one")
		c.put(cm, obj("v1", "ConfigMap", map[string]any{"name": "one", "namespace": "app",
			"annotations": map[string]any{v1alpha1.AnnotationSync: `{"whenPlacementDeleted":"Orphan"}`}}))
		c.eventually("on a", func() bool { return c.has("a", cm) })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on b", func() bool { return c.has("b", cm) })
		c.report("b", cm, nil)
		c.eventually("off a", func() bool { return !c.has("a", cm) })
		c.wantRemoval("a", cm, store.RemoveOrphan)
	})
}

// What a finalizer of the space keeps stays on the target, and its changes go there, until the
// finalizer is taken off, as on a cluster.
func TestAFinalizerHoldsTheSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web, cm := c.deployment("web", nil, ""), c.configMap("settings")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", cm) })
		merge := func(k store.Key, change map[string]any) {
			c.mu.Lock()
			defer c.mu.Unlock()
			o := spaceapitest.Clone(c.objects[k])
			spaceapitest.Merge(o, change)
			c.commit(k, o)
		}
		for _, k := range []store.Key{web, cm} {
			merge(k, map[string]any{"metadata": map[string]any{
				"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"example.com/keep"}}})
		}
		before, _ := c.d.Feed("a").Get(cm)
		merge(cm, map[string]any{"data": map[string]any{"changed": "yes"}})
		c.eventually("the change is there", func() bool {
			now, _ := c.d.Feed("a").Get(cm)
			return c.has("a", cm) && now.Hash != before.Hash
		})
		if !c.has("a", web) {
			t.Error("a workload is gone that a finalizer holds")
		}
		c.restart()
		c.eventually("both are on a after a restart", func() bool { return c.has("a", web) && c.has("a", cm) })
		merge(web, map[string]any{"metadata": map[string]any{"finalizers": []any{"skerry.dev/own"}}})
		c.wantRemoval("a", web, store.RemoveDelete)
		c.put(cm, nil)
		c.wantRemoval("a", cm, store.RemoveDelete)
	})
}

func TestADeletionThatLeavesDependentsDoesSoEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web, other := c.deployment("web", nil, ""), c.deployment("other", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", other) })
		leaving := func(k store.Key, finalizer string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			o := spaceapitest.Clone(c.objects[k])
			spaceapitest.Merge(
				o,
				map[string]any{
					"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{finalizer}},
				},
			)
			c.commit(k, o)
		}
		leaving(web, "orphan")
		leaving(other, "foregroundDeletion")
		c.wantRemoval("a", web, store.RemoveKeepDependents)
		c.wantRemoval("a", other, store.RemoveDelete)
		c.put(web, nil)
		c.wantRemoval("a", web, store.RemoveKeepDependents)
	})
}
