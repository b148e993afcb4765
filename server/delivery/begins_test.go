package delivery

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

func (c *center) stamp(k store.Key) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fields.Clone(c.objects[k], "metadata", "annotations", v1alpha1.AnnotationUnit)
}

// What must not be in two places begins, and moves, without its stamp: that may reach the store late.
func TestWhatRunsOnceBeginsWithoutAStamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		p := c.placement("p", 1, []any{"a"}, breakFirst)
		web := key("apps", "deployments", "web")
		c.mu.Lock()
		c.fail = func(k store.Key) error {
			if k == web {
				return errors.New("no answer")
			}
			return nil
		}
		c.mu.Unlock()
		c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.restart()
		c.eventually("still on a", func() bool { return c.has("a", web) })
		c.placement("p", 2, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if c.has("b", web) || c.moving(p)["reason"] != "BreakBeforeMake" {
			t.Fatalf("a still has it, and the Placement says %v", c.moving(p))
		}
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) && !c.has("a", web) })
		if s := c.stamp(web); s != "" {
			t.Errorf("its stamp is %s", s)
		}
		c.mu.Lock()
		c.fail = nil
		c.mu.Unlock()
		c.eventually("stamped", func() bool { return c.stamp(web) == "uid-"+p.String() })
		c.report("b", web, nil)
		c.eventually("settled", func() bool { return c.moving(p)["reason"] == "Settled" })
	})
}

// What must not be in two places waits while its unit moves, and then begins where that is.
func TestWhatRunsOnceBeginsAfterAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		p := c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 2, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		db := c.deployment("db", map[string]any{"app": "web"}, "")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if c.has("a", db) || c.has("b", db) {
			t.Fatal("it has begun while its unit moves")
		}
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, nil)
		c.eventually("with the other one", func() bool { return c.has("b", db) && !c.has("a", db) })
		c.eventually("stamped", func() bool { return c.stamp(db) == "uid-"+p.String() })
	})
}

// An object that passes to such a unit while that moves follows when the move is complete.
func TestWhatPassesToAMovingUnitFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		db := c.deployment("db", map[string]any{"app": "db"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", db) })
		c.report("a", web, nil)
		c.report("a", db, nil)
		c.placement("p", 2, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		c.label(db, map[string]any{"app": "web"})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !c.has("a", db) || c.has("b", db) {
			t.Fatal("it has left while its unit moves")
		}
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, nil)
		c.eventually("off a, too", func() bool { return !c.has("a", db) })
		c.gone("a", db)
		c.eventually("with the other one", func() bool { return c.has("b", db) })
	})
}

// What must not be in two places begins together: the first object at once, and what comes then in one more
// cohort.
func TestWhatRunsOnceBeginsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		c.placement("p", 1, []any{"a"}, breakFirst)
		first := c.deployment("web-0", map[string]any{"app": "web"}, "")
		synctest.Wait()
		if !c.has("a", first) {
			t.Error("the first one waits")
		}
		last := first
		for _, name := range []string{"web-1", "web-2", "web-3"} {
			last = c.deployment(name, map[string]any{"app": "web"}, "")
			synctest.Wait()
		}
		if c.has("a", last) {
			t.Error("the last one does not wait for others")
		}
		c.eventually("all are on a", func() bool { return c.has("a", last) })
		c.d.catalog.RLock()
		defer c.d.catalog.RUnlock()
		if n := len(c.d.catalog.Records.Cohorts); n != 2 {
			t.Errorf("%d cohorts", n)
		}
	})
}
