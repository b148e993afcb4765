package delivery

import (
	"errors"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// orphaned begins the deletion of an object that leaves what it owns, as a user's request does.
func (c *center) orphaned(k store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := spaceapitest.Clone(c.objects[k])
	spaceapitest.Merge(o, map[string]any{"metadata": map[string]any{
		"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"orphan"},
	}})
	c.commit(k, o)
}

// dependents is what the Namespace says about what lives on.
func (c *center) dependents() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fields.Clone(c.objects[nsKey("app")], "metadata", "annotations", v1alpha1.AnnotationDependents)
}

// livingOn is a center whose Namespace is on a for nothing but what a workload left there.
func livingOn(t *testing.T, targets ...string) *center {
	c := newCenter(t)
	for _, name := range targets {
		c.target(name, nil)
	}
	c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{}))
	c.run()
	c.namespace("app", nil)
	web := c.deployment("web", nil, "")
	c.label(web, map[string]any{v1alpha1.LabelTarget: "a"})
	c.eventually("on a", func() bool { return c.has("a", web) && c.annotation(web) == "a" })
	c.orphaned(web)
	c.wantRemoval("a", web, store.RemoveKeepDependents)
	c.eventually("the Namespace says so", func() bool { return c.dependents() == "a" })
	c.eventually("it may go", func() bool { return c.d.KeepsDependents(web) == nil })
	c.put(web, nil)
	if !c.has("a", nsKey("app")) {
		t.Fatal("the Namespace left a, and ends there what lives on")
	}
	return c
}

func TestANamespaceStaysForWhatLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := livingOn(t, "a", "b")
		c.restart()
		c.eventually("it stays after a restart", func() bool { return c.has("a", nsKey("app")) })
		if c.has("b", nsKey("app")) {
			t.Error("it is on b, where nothing lives on")
		}
		c.mu.Lock()
		ns := spaceapitest.Clone(c.objects[nsKey("app")])
		spaceapitest.Merge(ns, map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}})
		c.commit(nsKey("app"), ns)
		c.mu.Unlock()
		c.eventually("its deletion ends it", func() bool { return !c.has("a", nsKey("app")) })
	})
}

func TestAUserEndsWhatLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := livingOn(t, "a")
		c.mu.Lock()
		ns := spaceapitest.Clone(c.objects[nsKey("app")])
		spaceapitest.Merge(ns, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{v1alpha1.AnnotationDependents: nil}}})
		c.commit(nsKey("app"), ns)
		c.mu.Unlock()
		c.eventually("the Namespace leaves", func() bool { return !c.has("a", nsKey("app")) })
	})
}

// Nothing lives on where the target is gone, or is none of the space any more.
func TestNothingLivesOnWhereTheSpaceIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := livingOn(t, "a", "b")
		c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{
			"locationSelector": map[string]any{"matchLabels": map[string]any{"none": "such"}}}))
		c.eventually("it leaves", func() bool { return !c.has("a", nsKey("app")) && c.dependents() == "" })
	})
}

// The workload must not go before it is stored where what it owned lives on: after a restart nothing
// else says so.
func TestAWorkloadWaitsUntilItsNamespaceSaysWhatLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.target("a", nil)
		c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{}))
		c.run()
		c.namespace("app", nil)
		web := c.deployment("web", nil, "")
		c.label(web, map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("on a", func() bool { return c.has("a", web) && c.annotation(web) == "a" })
		if c.d.KeepsDependents(web) == nil {
			t.Error("it may go, though its deletion has not been seen")
		}
		c.mu.Lock()
		c.fail = func(k store.Key) error {
			if k == nsKey("app") {
				return errors.New("the API is away")
			}
			return nil
		}
		c.mu.Unlock()
		c.orphaned(web)
		if c.d.KeepsDependents(web) == nil {
			t.Error("it may go, though nothing says where its Pods live on")
		}
		c.mu.Lock()
		c.fail = nil
		c.mu.Unlock()
		c.eventually("it may go", func() bool { return c.d.KeepsDependents(web) == nil })
		if got := c.dependents(); got != "a" {
			t.Errorf("they live on at %q", got)
		}
	})
}
