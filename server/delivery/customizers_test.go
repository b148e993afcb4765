package delivery

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

func (c *center) customizer(space, name string) store.Key {
	k := store.Key{Space: space, Group: store.RulesGroup, Resource: store.RulesResource, Name: name}
	c.put(k, obj("skerry.dev/v1alpha1", "Customizer", meta(name), "spec", map[string]any{
		"objects": []any{map[string]any{}}, "remove": []any{"/spec/x"},
	}))
	return k
}

// values is what a target is told of itself, nil where nothing.
func (c *center) values(target string) *variant.Values {
	f := c.d.Feed(target)
	if e, ok := f.Get(store.ValuesKey); !ok || e.Tombstone {
		return nil
	}
	body, generation, err := f.Body(c.t.Context(), store.ValuesKey)
	e, _ := f.Get(store.ValuesKey)
	var v variant.Values
	if err != nil || json.Unmarshal(body, &v) != nil || e.Hash != store.HashBody(generation, body) {
		c.t.Fatalf("values %s of %s: %v", body, target, err)
	}
	return &v
}

// Customizers are where anything of their space is, before it, and nowhere else; their targets also
// have their own values, which change alone.
func TestCustomizersGoWithTheirSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.run()
		c.target("one", map[string]any{"region": "eu"})
		c.target("two", map[string]any{"region": "us"})
		c.space("shop")
		c.space("bank")
		k := c.customizer("shop", "sites")
		other := c.customizer("bank", "sites")
		if c.has("one", k) || c.has("two", k) || c.values("one") != nil {
			t.Fatal("a Customizer is where nothing of its space is")
		}
		c.namespace("app", map[string]any{"skerry.dev/target": "one"})
		m := c.configMap("m")
		c.eventually("the object is on its target", func() bool { return c.has("one", m) })
		c.eventually("the Customizer is, too", func() bool { return c.has("one", k) })
		if c.has("one", other) || c.has("two", k) || c.values("two") != nil {
			t.Error("a target has a Customizer of a space of which it has nothing")
		}
		entries := c.d.Feed("one").Since(0, 0)
		first := slices.IndexFunc(entries, func(e store.Entry) bool { return e.Key.Class() != store.ClassRule })
		last := slices.IndexFunc(entries, func(e store.Entry) bool { return e.Key == k })
		if first < last || entries[first].Revision < entries[last].Revision {
			t.Errorf("objects come before the rules: %v", entries)
		}
		if v := c.values("one"); v == nil || v.Name != "one" || v.Labels["region"] != "eu" {
			t.Errorf("values of one are %+v", v)
		}
		placed := c.d.Placed("one")
		if n := c.d.Count("one"); n != len(placed) || slices.ContainsFunc(placed, func(e store.Entry) bool {
			return e.Key == store.ValuesKey
		}) {
			t.Errorf("%d objects are counted, placed are %v", n, placed)
		}
		if at, ok := c.d.Located(k); !ok || !slices.Equal(at.Targets, []string{"one"}) {
			t.Errorf("the Customizer is at %v", at.Targets)
		}

		before, _ := c.d.Feed("one").Get(m)
		c.label(rootKey("synctargets", "one"), map[string]any{"region": "north"})
		if v := c.values("one"); v.Labels["region"] != "north" {
			t.Errorf("a label that changes is not told: %+v", v)
		}
		if now, _ := c.d.Feed("one").Get(m); now.Revision != before.Revision {
			t.Error("an object is sent again for a label")
		}
		if c.values("two") != nil {
			t.Error("another target is told of it")
		}

		c.label(nsKey("app"), map[string]any{"skerry.dev/target": "two"})
		c.eventually("the object is where it moves to", func() bool { return c.has("two", m) })
		c.eventually("the Customizer goes where its space goes", func() bool { return c.has("two", k) })

		// A restart knows the same.
		c.restart()
		c.eventually("it is there after a restart", func() bool { return c.has("two", k) && c.values("two") != nil })

		c.put(k, nil)
		if c.has("two", k) || c.d.Customizers("shop") != 0 || c.d.Customizers("bank") != 1 {
			t.Error("a deleted Customizer is not gone")
		}
	})
}
