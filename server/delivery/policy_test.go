package delivery

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

func placementOf(name string) store.Key {
	return store.Key{Space: "shop", Group: "skerry.dev", Resource: "placements", Name: name}
}

// placement stores a Placement of everything with the label app=web; more are further fields of its
// spec.
func (c *center) placement(name string, generation int64, targets []any, more map[string]any) store.Key {
	c.t.Helper()
	k := placementOf(name)
	m := meta(name)
	m["generation"] = generation
	spec := map[string]any{
		"objects": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}},
		"targets": map[string]any{"names": targets}}
	for field, v := range more {
		spec[field] = v
	}
	o := obj("skerry.dev/v1alpha1", "Placement", m, "spec", spec)
	c.mu.Lock() // until it is written: a status that the center records meanwhile is not a user's to take back
	defer c.mu.Unlock()
	if old := c.objects[k]; old != nil {
		o["status"] = old["status"]
	}
	c.commit(k, o)
	return k
}

// moving is the condition Moving of a Placement.
func (c *center) moving(k store.Key) map[string]any {
	o, _ := c.Get(c.t.Context(), k, "")
	return catalog.ReadConditions(o).Get(v1alpha1.ConditionMoving)
}

// syncOf returns the annotation skerry.dev/sync of what a target gets.
func (c *center) syncOf(target string, k store.Key) string {
	c.t.Helper()
	body, _, err := c.d.Feed(target).Body(c.t.Context(), k)
	var o map[string]any
	if err != nil || json.Unmarshal(body, &o) != nil {
		c.t.Fatal("no body", err)
	}
	return fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationSync)
}

func TestAPolicyIsWrittenOnWhatAPlacementSelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web, other := c.deployment("web", map[string]any{"app": "web"}, ""), c.deployment("other", nil, "")
		c.placement("p", 1, []any{"a"}, map[string]any{"sync": map[string]any{"whenDrifted": "Restore"}})
		c.eventually("both on a", func() bool { return c.has("a", web) && c.has("a", other) })
		if got := c.syncOf("a", web); got != "" {
			t.Errorf("a policy that is all default is written as %q", got)
		}
		before, _ := c.d.Feed("a").Get(web)
		bystander, _ := c.d.Feed("a").Get(other)
		c.placement("p", 2, []any{"a"}, map[string]any{"sync": map[string]any{"whenAlreadyExists": "TakeOver",
			"whenPlacementDeleted": "Clean", "retainFields": []any{"/spec/replicas", "/spec/paused"}}})
		want := `{"whenAlreadyExists":"TakeOver","retainFields":["/spec/paused","/spec/replicas"]}`
		c.eventually("sent again with the annotation", func() bool {
			e, _ := c.d.Feed("a").Get(web)
			return e.Hash != before.Hash && c.syncOf("a", web) == want
		})
		if e, _ := c.d.Feed("a").Get(other); e.Revision != bystander.Revision {
			t.Error("what the Placement does not select was sent again")
		}
		c.d.catalog.RLock()
		demand := c.d.catalog.Find(web).Demand()
		c.d.catalog.RUnlock()
		if demand.Replicas != 0 {
			t.Errorf("%d replicas are demanded, but how many there are is the target's business", demand.Replicas)
		}
		c.restart()
		if c.syncOf("a", web) != want {
			t.Error("the annotation is lost by a restart")
		}
		c.put(placementOf("p"), nil)
		c.eventually("and without it", func() bool { return c.syncOf("a", web) == "" })
	})
}

func TestASuspendedPlacementKeepsItsDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		p := c.placement("p", 1, []any{"a"}, nil)
		c.eventually("on a, by the Placement", func() bool {
			return c.has("a", web) && c.annotation(web) == "a" && slices.Equal(c.decided(p), []string{"a"})
		})
		c.report("a", web, nil)
		c.placement("p", 2, []any{"b"}, map[string]any{"suspend": true})
		c.eventually("said", func() bool { return c.moving(p)["reason"] == "Suspended" })
		if c.has("b", web) {
			t.Fatal("it moved")
		}
		c.placement("p", 3, []any{"b"}, nil)
		c.eventually("on both", func() bool { return c.has("b", web) && c.moving(p)["reason"] != "Suspended" })
		c.placement("p", 4, []any{"b"}, map[string]any{"suspend": true})
		c.eventually("said again", func() bool { return c.moving(p)["reason"] == "Suspended" })
		c.report("b", web, nil)
		c.restart()
		c.eventually("said still", func() bool { return c.moving(p)["reason"] == "Suspended" })
		if !c.has("a", web) {
			t.Fatal("the move went on")
		}
		c.placement("p", 5, []any{"b"}, nil)
		c.eventually("b alone", func() bool { return !c.has("a", web) && c.has("b", web) })
	})
}

func TestNothingIsDecidedForTheFirstTimeWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		p := c.placement("p", 1, []any{"b"}, map[string]any{"suspend": true})
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("said", func() bool {
			o, _ := c.Get(t.Context(), p, "")
			s := catalog.ReadConditions(o).Get(v1alpha1.ConditionScheduled)
			return s["status"] == "False" && s["reason"] == string(placement.Suspended)
		})
		if c.has("a", web) || c.has("b", web) {
			t.Error("it was placed")
		}
	})
}
