package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// drained is a shop with a third target where a Deployment is to leave a for one of the others, and that for
// the next one.
func drained(t *testing.T, breaking bool) (c *center, web store.Key, first, next string) {
	c = shop(t)
	c.target("c", nil)
	if breaking {
		c.placement("p", 1, nil, m{"targets": m{"names": []any{"a", "b", "c"}, "count": int64(1)},
			"move": m{"type": "BreakBeforeMake"}})
	}
	c.namespace("app", nil)
	web = c.deployment("web", m{"app": "web"}, "")
	c.eventually("on a", func() bool { return c.has("a", web) })
	synctest.Wait()
	c.report("a", web, nil)
	c.spec("a", drainSpec, nil)
	if breaking {
		c.eventually("off a", func() bool { return !c.has("a", web) })
		c.gone("a", web)
	}
	c.eventually("on another one", func() bool { return c.elsewhere(web) })
	if first, next = "b", "c"; c.has("c", web) {
		first, next = "c", "b"
	}
	return c, web, first, next
}

// What was not ready in time on one target goes to the next one. What was given up stays so meanwhile, also
// over a restart of the center.
func TestTheNextTargetIsTried(t *testing.T) {
	for name, breaking := range map[string]bool{"MakeBeforeBreak": false, "BreakBeforeMake": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, web, first, next := drained(t, breaking)
				time.Sleep(11 * time.Minute)
				synctest.Wait()
				if breaking {
					c.gone(first, web)
				}
				c.eventually("on the next one", func() bool {
					return c.has(next, web) && !c.has(first, web) && c.has("a", web) != breaking
				})
				_, _, said := c.namespaceMoving()
				if s := said + fields.Clone(c.moving(placementOf("p")), "message"); !strings.Contains(s, "in place of "+first+", not ready in time") {
					t.Errorf("it says %q", s)
				}
				c.restart()
				c.report(next, web, nil)
				c.eventually("settled", func() bool { return c.has(next, web) && !c.has("a", web) && c.moveOf("a") == "" })
				of := catalog.Ref{Kind: catalog.OfNamespace, Key: nsKey("app")}
				if breaking {
					of = catalog.Ref{Kind: catalog.OfPlacement, Key: catalog.PlacementKey("shop", "p")}
				}
				c.eventually("nothing is given up any more", func() bool {
					c.d.catalog.RLock()
					defer c.d.catalog.RUnlock()
					b, has := c.d.catalog.Records.Index.Binding(c.d.catalog.Group(of).ID())
					return has && len(b.GaveUp) == 0
				})
			})
		})
	}
}

// When no target was ready in time it is back, all are named, and nothing is tried before something changes.
func TestNoNextTargetIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, web, _, _ := drained(t, false)
		for range 3 {
			time.Sleep(11 * time.Minute)
			synctest.Wait()
		}
		if c.has("b", web) || c.has("c", web) || !c.has("a", web) {
			t.Fatalf("it is on %s", c.annotation(nsKey("app")))
		}
		if _, reason, s := c.namespaceMoving(); reason != "ReadyTimeout" || !strings.Contains(s, "not moved to b,c, kept on a: ") {
			t.Errorf("it says %s: %q", reason, s)
		}
		for range 20 {
			time.Sleep(time.Minute)
			synctest.Wait()
			if c.has("b", web) || c.has("c", web) {
				t.Fatal("tried again though nothing has changed")
			}
		}
		c.target("c", m{v1alpha1.LabelTarget + "-x": "y"})
		c.eventually("c is tried again", func() bool { return c.has("c", web) || c.has("b", web) })
	})
}
