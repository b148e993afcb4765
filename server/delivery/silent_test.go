package delivery

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// session says whether the target b has one.
func (c *center) session(status string) {
	m := meta("b")
	m["labels"] = map[string]any{"region": "south"}
	c.put(rootKey("synctargets", "b"), obj("skerry.dev/v1alpha1", "SyncTarget", m, "status", map[string]any{
		"conditions": []any{map[string]any{"type": "Connected", "status": status}}}))
}

// TestBreakBeforeMakeWaitsForTheSessionOfItsDestination moves what must not be in two places to a target
// that has no session.
func TestBreakBeforeMakeWaitsForTheSessionOfItsDestination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		p := c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.session("False")
		c.placement("p", 2, []any{"b"}, breakFirst)
		for range 3 {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if !c.has("a", web) || c.has("b", web) {
				t.Fatal("it left a for a target that is away")
			}
			if m := c.moving(p); !strings.Contains(m["message"].(string), "a is kept until b has a session") {
				t.Fatalf("the Placement says %v", m)
			}
			c.restart()
		}
		c.session("True")
		c.eventually("off a", func() bool { return !c.has("a", web) })
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) })
	})
}

// TestADestinationComesBackDuringTheDecision: who decides has read that it has no session, and has not said yet that the
// move waits for it.
func TestADestinationComesBackDuringTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.session("False")
		c.placement("p", 2, []any{"b"}, breakFirst)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		back := func() { c.session("True") }
		c.ready = func() { c.asked.Store(&back) }
		c.restart()
		c.eventually("off a", func() bool { return !c.has("a", web) })
		if c.asked.Load() != nil {
			t.Error("nothing was asked")
		}
	})
}

// TestATargetConfirmsDuringTheDecision: who decides has asked what was left to confirm that it has nothing, and has not
// said yet that the move waits for that.
func TestATargetConfirmsDuringTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		var confirms atomic.Bool
		c.confirm = func(target string, revision int64) {
			if confirms.Load() {
				c.d.Confirmed(target, revision)
			}
		}
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 2, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		c.gone("a", web)
		time.Sleep(5 * time.Second)
		if synctest.Wait(); c.has("b", web) {
			t.Fatal("on b, and a has not confirmed that it has nothing")
		}
		confirms.Store(true)
		c.restart()
		began := time.Now()
		c.eventually("on b", func() bool { return c.has("b", web) })
		if took := time.Since(began); took > time.Second {
			t.Errorf("on b after %s, as something else had it looked at", took)
		}
	})
}

// TestASilentDestinationMayHaveIt cuts the link of the destination after it was told to have what must not be
// in two places: it may run there.
func TestASilentDestinationMayHaveIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		var heard atomic.Bool // whether b is; a always is
		c.confirm = func(target string, revision int64) {
			if target == "a" || heard.Load() {
				c.d.Confirmed(target, revision)
			}
		}
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		p := c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 2, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.session("False")
		for range 3 {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if c.has("a", web) {
				t.Fatal("back on a, and it may run on b")
			}
			c.restart()
		}
		if m := c.moving(p); strings.Contains(m["message"].(string), "kept on") {
			t.Errorf("it is nowhere, and the Placement says %v", m)
		}
		heard.Store(true)
		c.session("True")
		for range 3 { // it goes on, or back once b has said that it has nothing
			synctest.Wait()
			if c.has("a", web) && c.has("b", web) {
				t.Fatal("it is on both")
			}
			time.Sleep(time.Minute)
		}
	})
}
