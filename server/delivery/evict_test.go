package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// spec writes a connected SyncTarget with a spec; more changes its metadata.
func (c *center) spec(name string, spec, more map[string]any) {
	m := meta(name)
	for field, v := range more {
		m[field] = v
	}
	c.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", m, "spec", spec, "status",
		map[string]any{"conditions": []any{map[string]any{"type": "Connected", "status": "True"}}}))
}

var drainSpec = map[string]any{"unschedulable": true, "taints": []any{
	map[string]any{"key": v1alpha1.TaintDrain, "effect": "NoExecute"}}}

func (c *center) moveOf(target string) string {
	for _, m := range c.d.MovesOf(target) {
		return string(m.Phase) + ": " + m.Message
	}
	return ""
}

func TestADrainedTargetIsLeftWhenTheReplacementIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.spec("a", drainSpec, nil)
		c.eventually("on both", func() bool { return c.has("a", web) && c.has("b", web) })
		if r, leaves := c.d.Remaining("a"); r.Units != 1 || !leaves || r.Why != placement.LeaveDrained {
			t.Errorf("on a: %+v", r)
		}
		c.report("b", web, nil)
		c.eventually("off a", func() bool { return !c.has("a", web) && c.has("b", web) })
		if r, leaves := c.d.Remaining("a"); r.Units != 0 || !leaves {
			t.Errorf("left on a: %+v", r)
		}
		if r, leaves := c.d.Remaining("b"); leaves {
			t.Errorf("b is to be left: %+v", r)
		}
		c.spec("a", map[string]any{}, nil)
		c.restart()
		if c.has("a", web) || !c.has("b", web) {
			t.Error("it goes back when the drain is over")
		}
	})
}

func TestWhatCannotLeaveADrainedTargetStaysAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.deployment("web", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.spec("a", drainSpec, nil)
		c.eventually("said", func() bool {
			return strings.HasPrefix(c.moveOf("a"), string(placement.CannotLeave)+": it is to leave a and stays")
		})
		if !c.has("a", web) {
			t.Error("it left")
		}
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, nil)
		c.eventually("off a", func() bool { return !c.has("a", web) && c.moveOf("a") == "" })
	})
}

func TestABudgetHoldsDrainsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.namespace("app", nil)
		c.placement("p", 1, []any{"a", "b", "c"}, map[string]any{"disruption": map[string]any{"minAvailable": "60%"}})
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		on := func() (out string) {
			for _, name := range []string{"a", "b", "c"} {
				if c.has(name, web) {
					out += name
				}
			}
			return out
		}
		c.eventually("on all", func() bool { return on() == "abc" })
		for _, name := range []string{"a", "b", "c"} {
			c.report(name, web, nil)
		}
		c.spec("a", drainSpec, nil)
		c.eventually("off a", func() bool { return on() == "bc" })
		c.spec("b", drainSpec, nil)
		c.eventually("b is kept", func() bool { return strings.Contains(c.moveOf("b"), "spec.disruption.minAvailable") })
		if on() != "bc" {
			t.Errorf("it is on %s", on())
		}
		c.spec("a", map[string]any{}, nil)
		c.eventually("a is back and b is left", func() bool {
			if c.has("a", web) {
				c.mayReport("a", web, nil)
			}
			return on() == "ac"
		})
	})
}

// A target that is removed with Clean keeps what moves until its replacement is ready, and what nothing
// replaces until Discard allows its loss.
func TestARemovedTargetIsEmptiedAfterTheMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.namespace("pinned", map[string]any{v1alpha1.LabelTarget: "a"})
		pinned := key("", "configmaps", "pinned")
		pinned.Namespace = "pinned"
		c.put(pinned, obj("v1", "ConfigMap", map[string]any{"name": "pinned", "namespace": "pinned"}))
		c.eventually("both on a", func() bool { return c.has("a", pinned) })
		c.spec("a", map[string]any{"detachPolicy": "Clean"}, map[string]any{
			"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{v1alpha1.FinalizerDetach}})
		c.eventually("on both", func() bool { return c.has("a", web) && c.has("b", web) })
		c.report("b", web, nil)
		c.eventually("web has left", func() bool { return !c.has("a", web) && c.has("b", web) })
		if !c.has("a", pinned) {
			t.Error("what nothing replaces is deleted, and nobody has allowed it")
		}
		c.spec("a", map[string]any{"detachPolicy": "Discard"}, map[string]any{
			"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{v1alpha1.FinalizerDetach}})
		c.eventually("a is empty", func() bool { return c.d.Feed("a").Len() == 0 && c.intended("a", web) })
		if c.has("b", pinned) {
			t.Error("what is pinned went elsewhere")
		}
	})
}

// A target that is away for longer than evictAfter is left; nothing is while most targets are away.
func TestATargetThatIsAwayIsLeft(t *testing.T) {
	for name, others := range map[string]string{"one is away": "True", "all are away": "False"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.target("c", nil)
				c.namespace("app", nil)
				web := c.deployment("web", nil, "")
				c.eventually("on a", func() bool { return c.has("a", web) })
				gone := func(name, connected string) {
					c.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", meta(name),
						"spec", map[string]any{"evictAfter": "1m"}, "status", map[string]any{"conditions": []any{
							map[string]any{"type": "Connected", "status": connected,
								"lastTransitionTime": time.Now().Add(-2 * time.Minute).Format(time.RFC3339)}}}))
				}
				gone("b", others)
				gone("c", "True")
				gone("a", "False")
				if others == "True" {
					c.eventually("elsewhere", func() bool { return c.has("b", web) || c.has("c", web) })
					return
				}
				c.d.leaveTarget("a")
				c.d.catalog.RLock()
				r := c.d.catalog.Spaces["shop"].Namespaces["app"].Group.Ref()
				c.d.catalog.RUnlock()
				p := c.d.look(r)
				if p == nil || !placement.Same(p.choice.Targets, []string{"a"}) || !c.has("a", web) {
					t.Errorf("it is to leave for %v", p.choice.Targets)
				}
			})
		})
	}
}

func TestAUnitLeavesWhatItIsAskedToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.change(nsKey("app"), map[string]any{"annotations": map[string]any{v1alpha1.AnnotationEvict: "a"}})
		c.eventually("on both", func() bool { return c.has("a", web) && c.has("b", web) })
		c.report("b", web, nil)
		c.eventually("on b", func() bool { return !c.has("a", web) })
		c.change(nsKey("app"), map[string]any{"annotations": map[string]any{v1alpha1.AnnotationEvict: nil}})
		if !c.has("b", web) || c.has("a", web) {
			t.Error("it goes back")
		}
	})
}

// What has failed over returns once the target that is preferred has been back for failbackAfter.
func TestItReturnsToThePreferredTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		session := func(status string) {
			m := meta("a")
			m["labels"] = map[string]any{"home": "yes"}
			c.put(rootKey("synctargets", "a"), obj("skerry.dev/v1alpha1", "SyncTarget", m, "spec",
				map[string]any{"evictAfter": "1m"}, "status", map[string]any{"conditions": []any{map[string]any{
					"type": "Connected", "status": status, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}}))
		}
		session("True")
		c.target("c", nil) // so that one that is away is not half of all
		home := map[string]any{"matchLabels": map[string]any{"home": "yes"}}
		p := c.placement("p", 1, nil, map[string]any{
			"targets": map[string]any{"selectors": []any{map[string]any{}}, "count": int64(1), "preferences": []any{
				map[string]any{"weight": int64(10), "selector": home}}},
			"failover": map[string]any{"failbackAfter": "10m"}})
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		session("False")
		time.Sleep(62 * time.Second)
		synctest.Wait()
		on := "b"
		if !c.has(on, web) {
			on = "c"
		}
		c.eventually("elsewhere", func() bool { c.report(on, web, nil); return c.has(on, web) && !c.has("a", web) })
		session("True")
		c.gone("a", web)
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if c.has("a", web) {
			t.Fatal("back after 9 minutes")
		}
		time.Sleep(62 * time.Second)
		synctest.Wait()
		c.eventually("back", func() bool { c.report("a", web, nil); return c.has("a", web) && !c.has(on, web) })
		c.eventually("settled", func() bool { return c.moving(p)["reason"] == "Settled" })
	})
}
