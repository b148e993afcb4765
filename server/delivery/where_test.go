package delivery

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// site stores a SyncTarget with taints and further fields of its status.
func (c *center) site(name string, labels map[string]any, taints []any, status map[string]any) {
	m := meta(name)
	m["labels"] = labels
	all := map[string]any{"conditions": []any{map[string]any{"type": "Connected", "status": "True"}}}
	for k, v := range status {
		all[k] = v
	}
	c.put(rootKey("synctargets", name),
		obj("skerry.dev/v1alpha1", "SyncTarget", m, "spec", map[string]any{"taints": taints}, "status", all))
}

// where is a Placement of what has the label app=web.
func (c *center) where(name string, generation int64, targets map[string]any) store.Key {
	return c.placement(name, generation, nil, map[string]any{"targets": targets})
}

// decided is where a Placement is recorded to be.
func (c *center) decided(k store.Key) []string {
	o, _ := c.Get(c.t.Context(), k, "")
	var on []string
	for _, name := range fields.List(o, "status", "decision") {
		on = append(on, name.(string))
	}
	return on
}

func (c *center) placementCondition(k store.Key, kind string) (status, reason, message string) {
	o, _ := c.Get(c.t.Context(), k, "")
	m := catalog.ReadConditions(o).Get(kind)
	return fields.Clone(m, "status"), fields.Clone(m, "reason"), fields.Clone(m, "message")
}

func TestCountZeroRemovesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		p := c.where("p", 1, map[string]any{"selectors": []any{map[string]any{}}})
		c.eventually("on both", func() bool { return c.has("a", web) && c.has("b", web) })
		c.where("p", 2, map[string]any{"selectors": []any{map[string]any{}}, "count": int64(0)})
		c.eventually("on none", func() bool { return !c.has("a", web) && !c.has("b", web) })
		c.eventually("says so", func() bool {
			status, reason, _ := c.placementCondition(p, "Scheduled")
			return status == "True" && reason == "NoneWanted"
		})
		c.where("p", 3, map[string]any{"names": []any{"b"}})
		c.eventually("comes back", func() bool { return c.has("b", web) && !c.has("a", web) })
	})
}

func TestATaintMovesAndTheReasonIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		p := c.where("p", 1, map[string]any{"selectors": []any{map[string]any{}}, "count": int64(1)})
		c.eventually("decided", func() bool { return c.generationOf(p) == 1 })
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		taint := func(effect string) []any { return []any{map[string]any{"key": "broken", "effect": effect}} }
		c.site("a", map[string]any{"region": "north"}, taint("NoSchedule"), nil)
		c.site("a", map[string]any{"region": "north"}, taint("NoExecute"), nil)
		c.eventually("comes to b", func() bool { return c.has("b", web) && c.has("a", web) })
		c.report("b", web, nil)
		c.eventually("is on b", func() bool { return c.has("b", web) && !c.has("a", web) })
		c.eventually("says why", func() bool {
			_, _, message := c.placementCondition(p, "Scheduled")
			return strings.Contains(message, "leaves a: it has the taint broken:NoExecute")
		})
		c.site("a", map[string]any{"region": "north"}, nil, nil)
		c.where("p", 2, map[string]any{"selectors": []any{map[string]any{}}, "count": int64(1)})
		c.eventually("looked at", func() bool { return c.generationOf(p) == 2 })
		if !c.has("b", web) || c.has("a", web) {
			t.Error("it moved back without a reason")
		}
		if _, _, message := c.placementCondition(p, "Scheduled"); !strings.Contains(message, "leaves a") {
			t.Errorf("the reason of the last move is lost: %q", message)
		}
	})
}

func (c *center) generationOf(k store.Key) int64 {
	o, _ := c.Get(c.t.Context(), k, "")
	status, _ := o["status"].(map[string]any)
	switch n := status["observedGeneration"].(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func TestATolerationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.where("p", 1, map[string]any{"selectors": []any{map[string]any{}}, "count": int64(1), "tolerations": []any{
			map[string]any{"key": "slow", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(600)}}})
		synctest.Wait()
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.site("a", nil, []any{map[string]any{"key": "slow", "effect": "NoExecute"}}, nil)
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if c.has("b", web) {
			t.Fatal("left before the toleration has ended")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !c.has("b", web) {
			t.Fatal("still there after the toleration has ended")
		}
	})
}

func TestBothPlacementsTellAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		older := c.where("p1", 1, map[string]any{"names": []any{"a"}})
		c.eventually("on a", func() bool { return c.has("a", web) })
		younger := c.where("p2", 1, map[string]any{"names": []any{"b"}})
		tells := func(k store.Key, status, part string) func() bool {
			return func() bool {
				is, _, message := c.placementCondition(k, v1alpha1.ConditionConflict)
				return is == status && strings.Contains(message, part)
			}
		}
		c.eventually("the loser", tells(younger, "True", `older Placement "p1"`))
		c.eventually("the winner", tells(older, "True", `younger Placement "p2"`))
		c.restart()
		c.eventually("the winner after a restart", tells(older, "True", `younger Placement "p2"`))
		c.put(younger, nil)
		c.eventually("over", tells(older, "False", ""))
	})
}

func TestAffinityFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		of := func(app string) []any {
			return []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": app}}}}
		}
		at := func(name string) map[string]any { return map[string]any{"names": []any{name}} }
		c.placement("db", 1, nil, map[string]any{"objects": of("db"), "targets": at("b")})
		near := c.where("near", 1, map[string]any{"selectors": []any{map[string]any{}},
			"affinity": []any{map[string]any{"placements": []any{"db"}}}})
		c.eventually("decided", func() bool { return slices.Equal(c.decided(near), []string{"b"}) })
		c.namespace("app", nil)
		db := c.deployment("db", map[string]any{"app": "db"}, "")
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("near to db", func() bool { return c.has("b", db) && c.has("b", web) && !c.has("a", web) })
		c.placement("db", 2, nil, map[string]any{"objects": of("db"), "targets": at("a")})
		c.eventually("db comes to a, and web follows", func() bool { return c.has("a", db) && c.has("a", web) })
		c.report("a", web, nil)
		c.report("a", db, nil)
		c.eventually("db has left b, and so does web", func() bool { return !c.has("b", db) && !c.has("b", web) })
	})
}

func TestATargetThatDoesNotServeAKindIsNotChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.site("a", map[string]any{"region": "north"}, nil,
			map[string]any{"apis": map[string]any{"versions": []any{"v1", "apps/v1beta1"}}})
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		p := c.where("p", 1, map[string]any{"selectors": []any{map[string]any{}}})
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, nil) // it may have been on a, where the Namespace had been decided to be
		c.eventually("not on a, which does not serve it", func() bool { return !c.has("a", web) })
		c.where("p", 2, map[string]any{"names": []any{"a"}})
		c.eventually("says so", func() bool {
			_, _, message := c.placementCondition(p, "Scheduled")
			return strings.Contains(message, "does not serve apps/v1/deployments")
		})
		if !c.has("b", web) {
			t.Error("what runs does not stay")
		}
		c.site("a", map[string]any{"region": "north"}, nil,
			map[string]any{"apis": map[string]any{"versions": []any{"v1", "apps/v1"}}})
		c.eventually("it is served now", func() bool { return c.has("a", web) })
	})
}

func TestWhatCannotBeUnderstoodChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		p := c.where("p", 1, map[string]any{"names": []any{"a"}})
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.where("p", 2, map[string]any{"names": []any{"b"}, "cel": []any{map[string]any{"expression": "target.nam"}}})
		c.eventually("says so", func() bool {
			_, reason, message := c.placementCondition(p, "Scheduled")
			return reason == "Invalid" && strings.Contains(message, "spec.targets.cel[0].expression")
		})
		if !c.has("a", web) || c.has("b", web) {
			t.Error("what runs does not stay")
		}
	})
}
