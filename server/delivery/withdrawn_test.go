package delivery

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// withdrawal begins a move of the Deployment web from a to b, and takes it back.
type withdrawal struct {
	name        string
	begin, back func(c *center, web store.Key)
}

func withdrawals() []withdrawal {
	label := func(k func(store.Key) store.Key, value any) func(*center, store.Key) {
		return func(c *center, web store.Key) { c.label(k(web), map[string]any{v1alpha1.LabelTarget: value}) }
	}
	namespace := func(store.Key) store.Key { return nsKey("app") }
	object := func(web store.Key) store.Key { return web }
	place := func(generation int64, target string) func(*center, store.Key) {
		return func(c *center, _ store.Key) { c.placement("p", generation, []any{target}, nil) }
	}
	return []withdrawal{
		{"the namespace's label is set back", label(namespace, "b"), label(namespace, "a")},
		{"nothing says where to any more", func(c *center, web store.Key) {
			c.put(
				rootKey("spaces", "shop"),
				obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{}),
			)
			c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		}, label(namespace, nil)},
		{"the object's label is set back", label(object, "b"), label(object, "a")},
		{"the object's label is taken off", label(object, "b"), label(object, nil)},
		{"a Placement is set back", place(1, "b"), place(2, "a")},
		{
			"a Placement is deleted",
			place(1, "b"),
			func(c *center, _ store.Key) { c.put(catalog.PlacementKey("shop", "p"), nil) },
		},
	}
}

// TestAWithdrawnMoveEndsWhereItBegan takes back moves of every kind in the middle, whatever the
// target that the workload came from says meanwhile. It ends on that target alone, at once when
// that one is as desired, and at the latest after the time that a move may take.
func TestAWithdrawnMoveEndsWhereItBegan(t *testing.T) {
	states := map[string]func(*placement.Progress){
		"ready":         func(*placement.Progress) {},
		"not available": func(p *placement.Progress) { p.Available = 1 },
		"refusing": func(p *placement.Progress) {
			p.Refused = &store.ReportError{Reason: "QuotaExceeded", Message: "no more pods"}
		},
	}
	for _, w := range withdrawals() {
		for state, change := range states {
			for _, restarts := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/restart=%v", w.name, state, restarts), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := shop(t)
						c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
						web := c.deployment("web", map[string]any{"app": "web"}, "")
						c.eventually("on a", func() bool { return c.has("a", web) })
						c.report("a", web, nil)
						w.begin(c, web)
						c.eventually("on both", func() bool { return c.has("a", web) && c.has("b", web) })
						c.report("b", web, func(p *placement.Progress) { p.Available = 0 }) // less than a has
						c.report("a", web, change)
						time.Sleep(time.Minute)
						w.back(c, web)
						synctest.Wait()
						if restarts {
							c.restart()
						}
						c.report("a", web, change)
						patience := 10 * time.Second
						if state != "ready" {
							patience += placement.ReadyTimeout
						}
						time.Sleep(patience)
						synctest.Wait()
						if !c.has("a", web) || c.has("b", web) {
							t.Errorf(
								"on a: %v, on b: %v; the object says %q, the Namespace %q",
								c.has("a", web),
								c.has("b", web),
								c.annotation(web),
								c.annotation(nsKey("app")),
							)
						}
					})
				})
			}
		}
	}
}

// What was once decided for an object alone, and is wished no more, is no place to go to.
func TestAnOldDecisionIsNoWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		one := c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", one) })
		c.d.catalog.Lock()
		o := c.d.catalog.Find(one)
		unit := binding.UnitID(o.UID)
		b := c.d.catalog.Targets["b"].ID
		c.d.catalog.Unlock()
		if err := c.d.put(t.Context(), "shop", 0, scheduler.Record{Unit: catalog.UnitOf(one), Binding: &binding.Binding{
			Unit: unit, Record: binding.Record{Era: c.d.era, Places: []binding.Place{{Target: b}}}}}); err != nil {
			t.Fatal(err)
		}
		c.label(one, map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("with its own decision", func() bool {
			if c.has("b", one) {
				t.Fatal("it is made on b")
			}
			c.d.catalog.RLock()
			defer c.d.catalog.RUnlock()
			r := c.d.catalog.Records.Of(o)
			return r.Unit == unit || r.Cohort != 0
		})
	})
}
