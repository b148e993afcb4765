package delivery

import (
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// define puts a definition of boats.example.org into a space, with what it says of its placement.
func (c *center) define(space, placement string) store.Key {
	k := catalog.DefinitionKey(space, "example.org", "boats")
	m := meta(k.Name)
	if placement != "" {
		m["annotations"] = map[string]any{v1alpha1.AnnotationPlacement: placement}
	}
	c.put(k, obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", m, "spec", map[string]any{}))
	return k
}

func (c *center) boat(name string, labels map[string]any) store.Key {
	k := key("example.org", "boats", name)
	m := meta(name)
	m["namespace"], m["labels"] = "app", labels
	c.put(k, obj("example.org/v1", "Boat", m, "spec", map[string]any{}))
	return k
}

func TestADefinitionKeepsItsObjectsInTheSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		crd := c.define("shop", v1alpha1.PlacementNone)
		c.namespace("app", nil)
		boat, wished := c.boat("one", nil), c.boat("two", map[string]any{v1alpha1.LabelTarget: "b"})
		web := c.deployment("web", nil, "")
		c.eventually("the rest is on a", func() bool { return c.has("a", web) })
		stays := func(when string) {
			t.Helper()
			for _, k := range []store.Key{crd, boat, wished} {
				if c.has("a", k) || c.has("b", k) {
					t.Errorf("%s: %s was sent", when, k)
				}
			}
		}
		stays("at first")
		for _, name := range []string{"one", "new"} {
			k := key("example.org", "boats", name)
			if a := c.d.Admit("shop", k, &metav1.ObjectMeta{Name: name}); a != (Admitted{}) {
				t.Errorf("admission says of %s: %+v", name, a)
			}
		}
		c.restart()
		stays("after a restart")

		// It does not hold up what moves.
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("web on b, too", func() bool { return c.has("b", web) })
		c.report("b", web, nil)
		c.eventually("web left a", func() bool { return !c.has("a", web) })

		c.define("shop", "")
		c.eventually("sent as any other", func() bool {
			return c.has("b", crd) && c.has("b", boat) && c.has("b", wished) && c.annotation(boat) == "b"
		})
		c.define("shop", "Some")
		if !c.has("b", crd) || !c.has("b", boat) {
			t.Error("a word that means nothing took them back")
		}
		c.define("shop", v1alpha1.PlacementNone)
		stays("taken back")
		for _, k := range []store.Key{crd, boat, wished} {
			if e, _ := c.d.Feed("b").Get(k); !e.Tombstone || !e.Intended || !c.d.Feed("b").Intended(k) ||
				e.Removal != store.RemoveDelete {
				t.Errorf("%s leaves as %+v", k, e)
			}
		}
		if !c.has("b", web) {
			t.Error("it took the rest along")
		}
		c.eventually("they say so", func() bool { return c.annotation(boat) == "" && c.annotation(wished) == "" })

		// What is defined anew goes by its new word.
		c.put(crd, nil)
		c.define("shop", "")
		c.eventually("sent again", func() bool { return c.has("b", crd) && c.has("b", boat) })
	})
}

func TestABorrowedDefinitionKeepsObjectsInTheirSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		lent := c.define("platform", v1alpha1.PlacementNone)
		space := func(apis ...any) {
			c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{
				"apis": apis, "defaultTargets": map[string]any{"count": int64(1)},
			}))
		}
		space(map[string]any{"fromSpace": "platform", "group": "example.org"})
		c.namespace("app", nil)
		boat, cm := c.boat("one", nil), c.configMap("one")
		c.eventually("the rest is on a", func() bool { return c.has("a", cm) })
		if c.has("a", lent) || c.has("a", boat) {
			t.Error("sent")
		}
		c.define("platform", "")
		c.eventually("sent as any other", func() bool { return c.has("a", lent) && c.has("a", boat) })
		c.define("platform", v1alpha1.PlacementNone)
		if c.has("a", lent) || c.has("a", boat) {
			t.Error("not taken back")
		}
		own := c.define("shop", "")
		if c.has("a", boat) {
			t.Error("a definition of its own does not serve a space that borrows")
		}
		space()
		c.eventually("served by its own", func() bool { return c.has("a", own) && c.has("a", boat) && !c.has("a", lent) })
	})
}
