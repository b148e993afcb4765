package delivery

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func shop(t *testing.T) *center {
	c := newCenter(t)
	c.target("a", map[string]any{"region": "north"})
	c.target("b", map[string]any{"region": "south"})
	c.space("shop")
	c.run()
	return c
}

func TestANamespaceIsDecidedOnceAndItsObjectsFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		cm := c.configMap("one")
		c.eventually("the namespace is decided", func() bool { return c.annotation(nsKey("app")) == "a" })
		c.eventually("both are in the feed", func() bool { return c.has("a", cm) && c.has("a", nsKey("app")) })
		if c.has("b", cm) || c.has("b", nsKey("app")) {
			t.Error("b got what is not placed there")
		}
		c.eventually("the derived annotation", func() bool { return c.annotation(cm) == "a" })
		deploy := c.deployment("web", nil, "")
		if !c.has("a", deploy) {
			t.Error("with a decision known, the write itself must feed the target")
		}
		body, _, err := c.d.Feed("a").Body(context.Background(), cm)
		if err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := json.Unmarshal(body, &o); err != nil {
			t.Fatal(err)
		}
		if got := fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationOrigin); got != "shop/" {
			t.Errorf("origin %q", got)
		}
	})
}

func TestAMoveIsMakeBeforeBreakAndSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web, cm := c.deployment("web", nil, "one"), c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", cm) })
		c.report("a", web, nil)
		c.report("a", cm, nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually(
			"on both",
			func() bool { return c.annotation(nsKey("app")) == "a,b" && c.has("b", web) && c.has("b", cm) },
		)
		c.restart()
		c.eventually("still on both", func() bool { return c.has("a", web) && c.has("b", web) })
		c.report("b", cm, nil)
		c.report("b", web, func(p *placement.Progress) { p.Available = 2 })
		if got := c.annotation(nsKey("app")); got != "a,b" {
			t.Fatalf("2 of 3 replicas are not enough, but the record is %q", got)
		}
		c.report("b", web, nil)
		c.eventually(
			"on b alone",
			func() bool { return c.annotation(nsKey("app")) == "b" && !c.has("a", web) && !c.has("a", nsKey("app")) },
		)
		gone, _ := c.d.Feed("a").Get(web)
		if other, _ := c.d.Feed("a").Get(cm); gone.Revision != other.Revision || gone.Revision == 0 {
			t.Errorf("one decision must be one revision: %d and %d", gone.Revision, other.Revision)
		}
	})
}

func TestALabelOfItsOwnMovesOneObjectAndWhatItNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web, cm := c.deployment("web", nil, "one"), c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", cm) })
		c.label(web, map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually(
			"the copy on b comes first",
			func() bool { return c.has("b", web) && c.has("b", cm) && c.has("a", web) },
		)
		c.report("b", web, nil)
		c.eventually(
			"only on b, its ConfigMap on both",
			func() bool { return !c.has("a", web) && c.has("a", cm) && c.has("b", cm) },
		)
		c.eventually("the annotations say so", func() bool { return c.annotation(web) == "b" && c.annotation(nsKey("app")) == "a" })
		// back to the namespace: held on b until it has arrived on a
		c.label(web, map[string]any{v1alpha1.LabelTarget: nil})
		c.eventually("on both again", func() bool { return c.has("a", web) && c.has("b", web) })
		c.report("a", web, nil)
		c.eventually("let go of b", func() bool { return !c.has("b", web) && !c.has("b", cm) && c.annotation(web) == "a" })
	})
}

func TestAPlacementTakesAndGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		pk := store.Key{Space: "shop", Group: "skerry.dev", Resource: "placements", Name: "south"}
		m := meta("south")
		m["generation"] = 1
		c.put(pk, obj("skerry.dev/v1alpha1", "Placement", m, "spec", map[string]any{
			"objects": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}},
			"targets": map[string]any{
				"selectors": []any{map[string]any{"matchLabels": map[string]any{"region": "south"}}},
			}}))
		c.eventually("on b too", func() bool { return c.has("b", web) && c.has("a", web) })
		c.eventually("on b alone", func() bool {
			c.report("b", web, nil) // again and again: what is sent names the Placement, so it changes once more
			return !c.has("a", web) && c.annotation(web) == "b"
		})
		if is, ok := c.d.Content(pk); !ok || len(is.Objects) != 1 || is.Objects[0].Key != web ||
			is.Objects[0].Demand.Replicas != 3 || !slices.Equal(is.Targets, []string{"b"}) {
			t.Errorf("content: %+v", is)
		}
		if told := c.told(pk); !told[""] || !told["b"] {
			t.Errorf("told of the Placement: %v", told)
		}
		c.put(pk, nil)
		c.eventually("back on a, b kept", func() bool { return c.has("a", web) && c.has("b", web) })
		c.eventually("b let go", func() bool {
			c.report("a", web, nil)
			return !c.has("b", web)
		})
	})
}

func TestAVolumeIsNotLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		pvc := key("", "persistentvolumeclaims", "data")
		m := meta("data")
		m["namespace"] = "app"
		c.put(pvc, obj("v1", "PersistentVolumeClaim", m, "spec", map[string]any{}))
		c.eventually("on a", func() bool { return c.has("a", pvc) })
		c.report("a", pvc, func(p *placement.Progress) { p.HasVolume = true })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("the Namespace says why it stays", func() bool {
			o, _ := c.Get(context.Background(), nsKey("app"), "v1")
			m := catalog.ReadConditions(o).Get(v1alpha1.ConditionObjectMoving)
			return m["status"] == "False" && m["reason"] == "VolumeWouldStay"
		})
		if c.has("b", pvc) || c.annotation(nsKey("app")) != "a" {
			t.Error("it moved all the same")
		}
		c.reports.Lock()
		defer c.reports.Unlock()
		if len(c.events) != 1 || !c.events[0].Warning {
			t.Errorf("events: %+v", c.events)
		}
	})
}

func TestADeletedTargetIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		cm := c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", cm) })
		c.put(rootKey("synctargets", "a"), nil)
		c.eventually("on b", func() bool { return c.has("b", cm) && c.annotation(nsKey("app")) == "b" })
		if c.d.Feed("a") != nil {
			t.Error("a deleted target keeps a feed")
		}
	})
}
