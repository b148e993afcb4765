package delivery

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/upsync"
)

// upsync stores the Upsync of a Placement, as its controller does, or as a parent.
func (c *center) upsync(name string, fromParent bool) store.Key {
	k := upsync.RuleKey("shop", name)
	m := meta(name)
	if fromParent {
		m["annotations"] = map[string]any{v1alpha1.AnnotationOriginUID: "above"}
	}
	c.put(k, obj("skerry.dev/v1alpha1", "Upsync", m, "spec", map[string]any{
		"objects": []any{map[string]any{"resources": []any{"configmaps"}}},
	}))
	return k
}

// placesAt stores a Placement of nothing, with names of targets.
func (c *center) placesAt(name string, generation int, targets ...any) {
	m := meta(name)
	m["generation"] = generation
	c.put(placementOf(name), obj("skerry.dev/v1alpha1", "Placement", m, "spec", map[string]any{
		"objects": []any{map[string]any{"names": []any{"none"}}}, "targets": map[string]any{"names": targets}}))
}

// Upsyncs are at the targets of their Placement, of those that have anything of the space.
func TestUpsyncsGoWithTheirPlacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.run()
		for _, name := range []string{"a", "b", "c"} {
			c.target(name, nil)
		}
		c.space("shop")
		c.placesAt("apps", 1, "a", "b")
		k := c.upsync("apps", false)
		above := c.upsync("above", true)
		orphan := c.upsync("orphan", false)
		c.eventually("it is decided", func() bool {
			is, ok := c.d.Content(placementOf("apps"))
			return ok && slices.Equal(is.Targets, []string{"a", "b"})
		})
		if c.has("a", k) || c.has("b", k) {
			t.Fatal("an Upsync is where nothing of its space is")
		}
		c.namespace("app", map[string]any{"skerry.dev/target": "b"})
		m := c.configMap("m")
		c.eventually("the object and the Upsync are there", func() bool { return c.has("b", m) && c.has("b", k) && c.has("b", above) })
		c.namespace("other", map[string]any{"skerry.dev/target": "c"})
		om := m
		om.Namespace = "other"
		c.put(om, obj("v1", "ConfigMap", map[string]any{"name": "m", "namespace": "other", "uid": "other-m"}))
		c.eventually("one of the parent is wherever the space is", func() bool { return c.has("c", om) && c.has("c", above) })
		for _, target := range []string{"a", "b", "c"} {
			if c.has(target, orphan) || target != "b" && c.has(target, k) {
				t.Errorf("target %s has an Upsync that is not for it", target)
			}
		}
		if n := c.d.Customizers("shop"); n != 0 {
			t.Errorf("%d Customizers", n)
		}

		c.placesAt("apps", 2, "c")
		c.eventually("it follows the decision", func() bool { return c.has("c", k) && !c.has("b", k) })
		if told := c.upsyncsTold(); told[k] < 2 || told[orphan] == 0 { // its own moves, and those of Namespaces
			t.Errorf("told %v", told)
		}
		c.restart()
		c.eventually("it is there after a restart", func() bool { return c.has("c", k) && c.has("b", above) })
		if c.has("b", k) {
			t.Error("after a restart it is elsewhere, too")
		}
		c.put(k, nil)
		if c.has("c", k) || !c.has("c", above) {
			t.Error("a deleted Upsync is not gone, or another is")
		}
	})
}

func (c *center) upsyncMoved(rule store.Key) {
	c.reports.Lock()
	defer c.reports.Unlock()
	if c.upsyncs == nil {
		c.upsyncs = map[store.Key]int{}
	}
	c.upsyncs[rule]++
}

// upsyncsTold is how often Config.Upsync was called with what.
func (c *center) upsyncsTold() map[store.Key]int {
	c.reports.Lock()
	defer c.reports.Unlock()
	return maps.Clone(c.upsyncs)
}
