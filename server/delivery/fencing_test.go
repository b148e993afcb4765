package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// away has a target without a session since some minutes, or back.
func (c *center) away(name string, away bool, spec map[string]any) {
	condition := map[string]any{"type": "Connected", "status": "True"}
	if away {
		condition = map[string]any{"type": "Connected", "status": "False",
			"lastTransitionTime": time.Now().Add(-5 * time.Minute).Format(time.RFC3339)}
	}
	if spec == nil {
		spec = map[string]any{"evictAfter": "1m"}
	}
	c.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", meta(name), "spec", spec,
		"status", map[string]any{"conditions": []any{condition}}))
}

// dbOnA has a StatefulSet on a, one of three targets.
func dbOnA(t *testing.T) (*center, store.Key) {
	c := shop(t)
	c.target("c", nil)
	c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
	db := c.statefulSet("db", nil)
	c.eventually("on a", func() bool { return c.has("a", db) })
	c.report("a", db, nil)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
	return c, db
}

func (c *center) elsewhere(k store.Key) bool { return c.has("b", k) || c.has("c", k) }

func TestWhatMustNotRunTwiceStaysWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := dbOnA(t)
		c.away("a", true, nil)
		c.eventually("it says why it stays", func() bool {
			return strings.Contains(c.moveOf("a"), "stays on a, which is away, because it must not run twice and it has no lease")
		})
		if !strings.Contains(c.moveOf("a"), "skerry target out-of-service a") {
			t.Errorf("it does not say what to do: %q", c.moveOf("a"))
		}
		if !c.has("a", db) || c.elsewhere(db) {
			t.Error("it left a site on which it may still run")
		}
		s, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{APIGroup: "apps",
			Resource: "statefulsets", Namespace: "app", Name: "db"}})
		if err != nil || !strings.HasPrefix(s.Targets[0].WaitsFor, "it is away since ") {
			t.Errorf("explained by %+v, %v", s, err)
		}
		down := map[string]any{"taints": []any{map[string]any{"key": v1alpha1.TaintOutOfService, "effect": "NoExecute"}}}
		c.away("a", true, down)
		c.eventually("elsewhere once the site is said to be down", func() bool { return c.elsewhere(db) && !c.has("a", db) })
	})
}

func TestWhatMustNotRunTwiceWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := dbOnA(t)
		ends := time.Now().Add(time.Hour)
		c.lease.Store(&placement.Lease{Wanted: true, Held: true, Ends: ends})
		c.away("a", true, nil)
		c.eventually("the target loses it first", func() bool { return !c.has("a", db) })
		want := "waits for the lease of a until " + ends.UTC().Format(time.TimeOnly)
		c.eventually("it says until when it waits", func() bool { return strings.Contains(c.moveOf("a"), want) })
		if c.elsewhere(db) {
			t.Fatal("it runs elsewhere before the lease has ended")
		}
		c.restart()
		c.eventually("it waits after a restart", func() bool { return strings.Contains(c.moveOf("a"), want) })
		if c.elsewhere(db) || c.has("a", db) {
			t.Fatal("a restart has started it")
		}
		c.lease.Store(&placement.Lease{Wanted: true, Held: true, Ends: time.Now().Add(-time.Second)})
		c.label(nsKey("app"), map[string]any{"look": "again"})
		c.eventually("elsewhere", func() bool { return c.elsewhere(db) })
	})
}

// A wish of its own takes it off a site that is away and has no lease. What ends the wait is said.
func TestAWishForAnotherTargetSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := dbOnA(t)
		c.away("a", true, map[string]any{})
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		want := "placed on b once statefulsets/db is gone from a, which is away: it must not run twice and it has no lease. " +
			"If the site is really down: skerry target out-of-service a"
		c.eventually("it says what to do", func() bool { return strings.Contains(c.moveOf("a"), want) })
		if c.elsewhere(db) {
			t.Fatal("it runs elsewhere")
		}
		c.away("a", true, map[string]any{"taints": []any{
			map[string]any{"key": v1alpha1.TaintOutOfService, "effect": "NoExecute"}}})
		c.eventually("on b once the site is said to be down", func() bool { return c.has("b", db) })
	})
}

// The timer wakes it: nothing else happens when the lease ends.
func TestTheEndOfALeaseWakesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := dbOnA(t)
		c.lease.Store(&placement.Lease{Held: true, Ends: time.Now().Add(700 * time.Millisecond)})
		began := time.Now()
		c.away("a", true, nil)
		c.eventually("elsewhere", func() bool { return c.elsewhere(db) })
		if took := time.Since(began); took < 700*time.Millisecond {
			t.Errorf("it ran elsewhere after %v", took)
		}
	})
}

// The session of a target ends while it is waited for its word. Nothing else happens, and the end of its
// lease counts instead.
func TestATargetThatGoesAwayIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.breaking(map[string]any{"targets": map[string]any{"names": []any{"a"}}})
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 2, nil, map[string]any{"targets": map[string]any{"names": []any{"b"}},
			"move": map[string]any{"type": "BreakBeforeMake"}})
		c.eventually("it has left a", func() bool { return !c.has("a", web) })
		p := placementOf("p")
		c.eventually("it waits for a, and nothing else is to be looked at", func() bool {
			return strings.Contains(fields.Clone(c.moving(p), "message"), "is gone from a") &&
				c.annotation(web) == "" && c.d.catalog.Groups.Len() == 0
		})
		c.lease.Store(&placement.Lease{Held: true, Ends: time.Now().Add(300 * time.Millisecond)})
		c.away("a", true, map[string]any{})
		c.eventually("elsewhere", func() bool { return c.has("b", web) })
	})
}

// A target that is back speaks for itself, whatever its lease says.
func TestATargetThatIsBackHasToSayThatItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := dbOnA(t)
		c.lease.Store(&placement.Lease{Held: true, Ends: time.Now().Add(time.Hour)})
		c.away("a", true, nil)
		c.eventually("the target loses it", func() bool { return !c.has("a", db) })
		c.away("a", false, nil)
		c.lease.Store(&placement.Lease{Held: true, Ends: time.Now().Add(-time.Hour)})
		c.label(nsKey("app"), map[string]any{"look": "again"})
		c.eventually("it waits for the target", func() bool {
			return strings.Contains(c.moveOf("b")+c.moveOf("c"), "once statefulsets/db is gone from a") || c.has("a", db)
		})
		if c.elsewhere(db) {
			t.Fatal("it runs elsewhere while a has it")
		}
		c.reports.Lock()
		delete(c.progress["a"], db)
		c.reports.Unlock()
		c.d.Reported("a", []store.Key{db})
		c.eventually("placed once it is gone", func() bool { return c.has("a", db) || c.elsewhere(db) })
	})
}

// What may run twice does not wait for anything.
func TestWhatMayRunTwiceMovesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.deployment("web", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
		c.away("a", true, nil)
		c.eventually("elsewhere", func() bool { return c.elsewhere(web) })
	})
}

// A StatefulSet that is kept on the first of two targets does not come to the second one before the
// lease of the first has ended.
func TestAStatefulSetOfTwoTargetsWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.namespace("app", nil)
		c.placement("p", 1, []any{"a", "b"}, nil)
		k := c.statefulSet("db", map[string]any{"app": "web"})
		c.eventually("on the first", func() bool { return c.has("a", k) && !c.has("b", k) })
		c.report("a", k, nil)
		ends := time.Now().Add(time.Hour)
		c.lease.Store(&placement.Lease{Held: true, Ends: ends})
		c.away("a", true, nil)
		c.eventually("it waits", func() bool { return strings.Contains(c.moveOf("a"), "waits for the lease of a") })
		if c.has("a", k) || c.has("b", k) {
			t.Fatalf("on a %v, on b %v", c.has("a", k), c.has("b", k))
		}
		c.lease.Store(&placement.Lease{Held: true, Ends: time.Now().Add(-time.Second)})
		c.label(nsKey("app"), map[string]any{"look": "again"})
		c.d.leaveTarget("a")
		c.d.catalog.RLock()
		c.d.catalog.Enqueue(&c.d.catalog.Spaces["shop"].Placements["p"].Group)
		c.d.catalog.RUnlock()
		c.eventually("on the second", func() bool { return c.has("b", k) })
	})
}

// breaking is what a Placement that breaks first has on a, with what another test adds.
func (c *center) breaking(more map[string]any) {
	spec := map[string]any{"move": map[string]any{"type": "BreakBeforeMake"}}
	for field, v := range more {
		spec[field] = v
	}
	c.placement("p", 1, nil, spec)
	c.namespace("app", nil)
}

func (c *center) bodyOf(target string, k store.Key) string {
	body, _, err := c.d.Feed(target).Body(c.t.Context(), k)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// What a Placement that breaks first has must not run twice. The agent is told so, because it has to
// stop the same as the center counts on.
func TestTheAgentIsToldWhatMustNotRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.placement("p", 1, []any{"a"}, map[string]any{"move": map[string]any{"type": "BreakBeforeMake"}})
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "one")
		one := c.configMap("one")
		const mark = `"skerry.dev/runs-once":"true"`
		c.eventually("marked", func() bool { return c.has("a", web) && strings.Contains(c.bodyOf("a", web), mark) })
		c.eventually("not what does not run", func() bool {
			return c.has("a", one) && !strings.Contains(c.bodyOf("a", one), mark)
		})
		c.placement("p", 2, []any{"a"}, nil)
		c.eventually("not marked", func() bool { return !strings.Contains(c.bodyOf("a", web), mark) })
	})
}

// A lease does not count for what no agent can stop.
func TestNoLeaseStopsWhatAnOperatorRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.breaking(map[string]any{"targets": map[string]any{"selectors": []any{map[string]any{}}, "count": 1}})
		c.define("shop", "")
		boat := c.boat("blue", map[string]any{"app": "web"})
		on := func() string {
			for _, name := range []string{"a", "b", "c"} {
				if c.has(name, boat) {
					return name
				}
			}
			return ""
		}
		c.eventually("somewhere", func() bool { return on() != "" })
		site := on()
		c.report(site, boat, nil)
		c.lease.Store(&placement.Lease{Wanted: true, Held: true, Ends: time.Now().Add(-time.Hour)})
		c.away(site, true, nil)
		c.eventually("it says why it stays", func() bool {
			return strings.Contains(c.moveOf(site), "no lease stops what runs for "+boat.Resource+"/blue")
		})
		if on() != site {
			t.Errorf("it is on %q, and may still run on %s", on(), site)
		}
	})
}

// The data of a claim that goes on elsewhere, because its site is away, are not deleted there.
func TestDataStayAtASiteThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.placement("p", 1, nil, map[string]any{
			"targets":  map[string]any{"selectors": []any{map[string]any{}}, "count": 1},
			"objects":  []any{map[string]any{"namespaces": []any{"app"}}},
			"failover": map[string]any{"mode": "AfterLease"},
		})
		c.namespace("app", nil)
		k := key("", "persistentvolumeclaims", "data")
		m := map[string]any{"name": "data", "namespace": "app"}
		c.put(k, obj("v1", "PersistentVolumeClaim", m, "spec", map[string]any{"accessModes": []any{"ReadWriteOnce"}}))
		db := c.statefulSet("db", nil)
		site := ""
		c.eventually("somewhere", func() bool {
			for _, name := range []string{"a", "b", "c"} {
				if c.has(name, db) && c.has(name, k) {
					site = name
				}
			}
			return site != ""
		})
		c.report(site, db, nil)
		c.report(site, k, func(p *placement.Progress) { p.HasVolume = true })
		c.lease.Store(&placement.Lease{Wanted: true, Held: true, Ends: time.Now().Add(-time.Hour)})
		c.away(site, true, nil)
		c.eventually("elsewhere", func() bool {
			n := 0
			for _, name := range []string{"a", "b", "c"} {
				if c.has(name, db) && c.has(name, k) {
					n++
				}
			}
			return n == 1 && !c.has(site, k) && !c.has(site, db)
		})
		if removal, _ := c.removal(site, k); removal != store.RemoveOrphan {
			t.Errorf("at the site that is away the claim is removed as %v", removal)
		}
		if removal, _ := c.removal(site, db); removal != store.RemoveDelete {
			t.Errorf("at the site that is away the StatefulSet is removed as %v", removal)
		}
	})
}
