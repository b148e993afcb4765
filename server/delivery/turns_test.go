package delivery

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// crowd places a Deployment in each of some namespaces on a, and returns them by namespace.
func (c *center) crowd(n int) map[string]store.Key {
	c.t.Helper()
	c.spec("b", map[string]any{"unschedulable": true}, nil)
	all := map[string]store.Key{}
	for i := range n {
		name := fmt.Sprintf("app-%02d", i)
		c.put(nsKey(name), obj("v1", "Namespace", meta(name)))
		k := key("apps", "deployments", "web")
		k.Namespace = name
		all[name] = c.workloadOf(k, "apps/v1", "Deployment", map[string]any{"replicas": int64(3)})
	}
	c.eventually("on a", func() bool { return len(c.on("a", all)) == n })
	c.spec("b", map[string]any{}, nil)
	return all
}

// on are the namespaces whose Deployment a target has.
func (c *center) on(target string, all map[string]store.Key) map[string]bool {
	out := map[string]bool{}
	for name, k := range all {
		if c.has(target, k) {
			out[name] = true
		}
	}
	return out
}

// drainedBy is the spec of a target that is drained, so many units at a time.
func drainedBy(limit int64) map[string]any {
	spec := maps.Clone(drainSpec)
	spec["drain"] = map[string]any{"maxConcurrent": limit}
	return spec
}

func TestUnitsLeaveADrainedTargetInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		all := c.crowd(8)
		settle := func() { time.Sleep(time.Second); synctest.Wait() }
		c.spec("a", drainedBy(2), nil)
		settle()
		if on := c.on("b", all); len(on) != 2 || !on["app-00"] || !on["app-01"] {
			t.Fatalf("they leave first: %v", on)
		}
		waiting := 0
		for _, m := range c.d.MovesOf("a") {
			if m.Phase == placement.WaitsForTurn {
				waiting++
				if m.Message != "waits for a turn: 2 units leave a, as many as spec.drain.maxConcurrent allows" {
					t.Errorf("it says %q", m.Message)
				}
			}
		}
		if waiting != 6 {
			t.Errorf("%d wait for a turn", waiting)
		}
		c.restart()
		settle()
		known := c.d.turns
		c.d.turns = newTurns(c.d.catalog) // nothing is decided now
		if is := c.d.turns.leavingFrom("a"); is.Units != 2 || is.Arriving["b"] != 2 {
			t.Errorf("the records say after a restart: %+v", is)
		}
		c.d.turns = known
		if on := c.on("b", all); len(on) != 2 {
			t.Fatalf("after a restart leave: %v", on)
		}
		c.report("b", all["app-01"], nil)
		settle()
		if on := c.on("b", all); len(on) != 3 || !on["app-02"] || c.has("a", all["app-01"]) {
			t.Fatalf("after the first has left: %v", on)
		}
		c.spec("a", drainedBy(100), nil)
		settle()
		if on := c.on("b", all); len(on) != 6 { // one has left, 5 are on their way to b
			t.Fatalf("with another limit: %v", on)
		}
		for _, m := range c.d.MovesOf("a") {
			if m.Phase == placement.WaitsForTurn && !strings.Contains(m.Message, "5 units are on their way to b") {
				t.Errorf("it says %q", m.Message)
			}
		}
		c.put(all["app-00"], nil) // what is gone takes no place
		c.put(nsKey("app-00"), nil)
		delete(all, "app-00")
		time.Sleep(turnAgain)
		settle()
		if on := c.on("b", all); len(on) != 6 {
			t.Errorf("with one that is deleted on its way: %v", on)
		}
		c.eventually("all have left", func() bool {
			for name := range c.on("b", all) {
				c.report("b", all[name], nil)
			}
			return len(c.on("a", all)) == 0
		})
		if len(c.d.turns.leaving) > 0 || len(c.d.turns.waiting) > 0 {
			t.Errorf("left of the drain: %+v", c.d.turns)
		}
	})
}

// A wish, unlike a drain, waits for nothing; nor does what has no replacement.
func TestWishesTakeNoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		all := c.crowd(7)
		c.spec("a", map[string]any{"drain": map[string]any{"maxConcurrent": int64(1)}}, nil)
		for name := range all {
			c.label(nsKey(name), map[string]any{v1alpha1.LabelTarget: "b"})
		}
		c.eventually("all are on both", func() bool { return len(c.on("b", all)) == 7 })
	})
}

// A drain that is taken back lets nothing wait.
func TestADrainThatIsTakenBackForgetsTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		all := c.crowd(3)
		c.spec("a", drainedBy(1), nil)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, k := range all {
			c.report("a", k, nil)
		}
		c.spec("a", map[string]any{}, nil)
		c.eventually("all are on a alone", func() bool {
			return len(c.on("b", all)) == 0 && len(c.on("a", all)) == 3 && c.moveOf("a") == ""
		})
		synctest.Wait()
		if len(c.d.turns.leaving) > 0 || len(c.d.turns.waiting) > 0 {
			t.Errorf("left of the drain: %+v", c.d.turns)
		}
	})
}

// An object that is deleted while it leaves, or waits for that, holds up no other unit.
func TestWhatIsGoneTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.spec("b", map[string]any{"unschedulable": true}, nil)
		c.namespace("app", nil)
		c.put(rootKey("locations", "any"), obj("skerry.dev/v1alpha1", "Location", meta("any"), "spec",
			map[string]any{"selector": map[string]any{}}))
		var webs []store.Key
		for _, name := range []string{"first", "second"} {
			webs = append(webs, c.deployment(name, map[string]any{v1alpha1.LabelTarget: "any"}, ""))
		}
		c.eventually("on a", func() bool { return c.has("a", webs[0]) && c.has("a", webs[1]) })
		last := c.crowd(1)["app-00"]
		for _, name := range []string{"one", "two"} { // so that it is larger, and leaves last
			k := key("", "configmaps", name)
			k.Namespace = last.Namespace
			c.workloadOf(k, "v1", "ConfigMap", nil)
		}
		c.spec("a", drainedBy(1), nil)
		c.eventually("the first leaves", func() bool { return c.has("b", webs[0]) })
		synctest.Wait()
		if c.has("b", webs[1]) || c.has("b", last) {
			t.Fatal("several leave at a time")
		}
		c.put(webs[0], nil)
		c.eventually("the second leaves", func() bool { return c.has("b", webs[1]) })
		c.put(webs[1], nil)
		c.eventually("the last leaves", func() bool { return c.has("b", last) })
	})
}
