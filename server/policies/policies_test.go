package policies

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// center is a store whose writes reach the Controller.
type center struct {
	*spaceapitest.Center
	t *testing.T
	c *Controller
}

func newCenter(t *testing.T) *center {
	c := &center{Center: spaceapitest.NewCenter(), t: t}
	c.c = New(Config{API: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	return c
}

func (c *center) run() {
	c.Mu.Lock()
	c.c.Reset(c.Revision, c.Listing())
	c.Apply = c.c.Apply
	c.Mu.Unlock()
	spaceapitest.Run(c.t, c.c.Run)
}

// allWrites needs Mu.
func (c *center) allWrites() (n int) {
	for _, one := range c.Writes {
		n += one
	}
	return n
}

func key(space, resource, name string) store.Key {
	return store.Key{
		Space:    space,
		Group:    v1alpha1.GroupVersion.Group,
		Resource: resource,
		Name:     name,
	}
}

func (c *center) space(name, tier string) {
	c.Put(
		key("root", "spaces", name),
		map[string]any{"metadata": map[string]any{"name": name, "uid": name,
			"labels": map[string]any{"tier": tier}}},
	)
}

func (c *center) policy(generation int, target string) {
	k := key("root", "placements", "eu")
	o := map[string]any{
		"metadata": map[string]any{"name": "eu", "uid": "u", "generation": generation},
		"spec": map[string]any{
			"spaceSelector": map[string]any{"matchLabels": map[string]any{"tier": "gold"}},
			"objects":       []any{map[string]any{}},
			"targets":       map[string]any{"names": []any{target}},
		},
	}
	if old := c.Object(k); old != nil {
		o["status"] = old["status"]
	}
	c.Put(k, o)
}

func (c *center) count(what string) any {
	return fields.Map(c.Object(key("root", "placements", "eu")), "status", "spaces")[what]
}

func TestCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.space("one", "gold")
		c.space("two", "silver")
		c.policy(1, "a")
		c.Put(
			key("two", "placements", "root.old"),
			map[string]any{"metadata": map[string]any{"name": "root.old"}},
		)
		c.Put(
			key("one", "placements", "mine"),
			map[string]any{"metadata": map[string]any{"name": "mine"}},
		)
		c.run()
		one, two := key("one", "placements", "root.eu"), key("two", "placements", "root.eu")
		spaceapitest.Eventually(t, "in the selected space alone", func() bool {
			return c.Object(one) != nil && c.Object(two) == nil &&
				c.Object(key("two", "placements", "root.old")) == nil
		})
		spec := fields.Map(c.Object(one), "spec")
		if spec["spaceSelector"] != nil || spec["precedence"] != "Default" ||
			fields.String(c.Object(one), "metadata", "annotations", v1alpha1.AnnotationPolicy) != "u/1" {
			t.Errorf("the copy is %v", c.Object(one))
		}
		if c.Object(key("one", "placements", "mine")) == nil {
			t.Error("a Placement of the space was deleted")
		}
		c.policy(2, "b")
		spaceapitest.Eventually(t, "changed", func() bool {
			return fields.String(
				c.Object(one),
				"metadata",
				"annotations",
				v1alpha1.AnnotationPolicy,
			) == "u/2" &&
				fields.List(c.Object(one), "spec", "targets", "names")[0] == "b"
		})
		spaceapitest.Eventually(
			t,
			"counted",
			func() bool { return c.count("selected") == 1.0 && c.count("inForce") == 1.0 },
		)
		c.space("two", "gold")
		spaceapitest.Eventually(
			t,
			"in a space that is relabelled",
			func() bool { return c.Object(two) != nil },
		)
		good := c.Object(two)
		var conditions []any
		for name, status := range map[string]string{"Scheduled": "True", "Conflict": "False", "Synced": "True", "Available": "True"} {
			conditions = append(
				conditions,
				map[string]any{"type": name, "status": status, "reason": "R"},
			)
		}
		good["status"] = map[string]any{"conditions": conditions}
		c.Put(two, good)
		spaceapitest.Eventually(t, "counted by conditions, and the other named", func() bool {
			first := fields.List(c.Object(key("root", "placements", "eu")), "status", "spaces", "first")
			return c.count("selected") == 2.0 && c.count("available") == 1.0 &&
				c.count("scheduled") == 1.0 &&
				len(first) == 1 &&
				first[0].(map[string]any)["space"] == "one"
		})
		status := fields.Map(c.Object(key("root", "placements", "eu")), "status")
		if status["ready"] != "1/2" {
			t.Errorf("ready in %v spaces", status["ready"])
		}
		for is := range fields.Maps(status, "conditions") {
			if is["type"] == "Scheduled" && (is["status"] != "False" || is["message"] != "1 of 2 spaces; in one: Pending: ") {
				t.Errorf("scheduled: %v", is)
			}
		}
		c.space("one", "silver")
		spaceapitest.Eventually(t, "gone where it is not selected", func() bool {
			return c.Object(one) == nil && c.count("selected") == 1.0 && c.count("first") == nil
		})
		c.Put(key("root", "placements", "eu"), nil)
		spaceapitest.Eventually(t, "gone with the policy", func() bool { return c.Object(two) == nil })
	})
}

// A thousand changes of copies are few writes of the status.
func TestStatusWritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.policy(1, "a")
		for i := range 100 {
			c.space(fmt.Sprintf("s%d", i), "gold")
		}
		c.run()
		spaceapitest.Eventually(t, "everywhere", func() bool { return c.count("inForce") == 100.0 })
		c.Mu.Lock()
		before := c.allWrites()
		c.Mu.Unlock()
		for i := range 100 {
			for _, status := range []string{"False", "True", "False", "True", "False", "True", "False", "True", "False", "True"} {
				k := key(fmt.Sprintf("s%d", i), "placements", "root.eu")
				o := c.Object(k)
				o["status"] = map[string]any{
					"conditions": []any{map[string]any{"type": "Scheduled", "status": status}},
				}
				c.Put(k, o)
			}
		}
		spaceapitest.Eventually(t, "counted", func() bool { return c.count("scheduled") == 100.0 })
		eu := c.Object(key("root", "placements", "eu"))
		if first := fields.List(eu, "status", "spaces", "first"); len(first) != mostNamed {
			t.Errorf("%d spaces are named", len(first))
		}
		c.Mu.Lock()
		defer c.Mu.Unlock()
		if n := c.allWrites() - before; n > 5 {
			t.Errorf("%d writes for 1000 changes", n)
		}
	})
}
