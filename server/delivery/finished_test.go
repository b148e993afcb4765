package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// end writes a status into an object of the space, as reports do.
func (c *center) end(k store.Key, status map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := spaceapitest.Clone(c.objects[k])
	o["status"] = status
	c.commit(k, o)
}

func (c *center) job(name, configMap string) store.Key {
	k := key("batch", "jobs", name)
	c.put(
		k,
		obj(
			"batch/v1",
			"Job",
			map[string]any{"name": name, "namespace": "app"},
			"spec",
			map[string]any{"template": map[string]any{
				"spec": map[string]any{
					"volumes": []any{map[string]any{"name": "c", "configMap": map[string]any{"name": configMap}}},
				}}},
		),
	)
	return k
}

var complete = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}

func TestAFinishedJobStaysWhereItRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		cm, done, web := c.configMap("one"), c.job("done", "one"), c.deployment("web", nil, "")
		pod := key("", "pods", "once")
		c.put(pod, obj("v1", "Pod", map[string]any{"name": "once", "namespace": "app"}, "spec", map[string]any{}))
		c.eventually("on a", func() bool {
			return c.has("a", done) && c.has("a", web) && c.annotation(done) == "a" && c.annotation(pod) == "a"
		})
		c.end(done, complete)
		c.end(pod, map[string]any{"phase": "Succeeded"})
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("the rest on both", func() bool { return c.has("b", web) && c.has("b", cm) })
		c.report("b", web, nil)
		c.report("b", cm, nil) // nobody waits for the Job
		c.eventually(
			"the rest on b",
			func() bool { return !c.has("a", web) && !c.has("a", cm) && c.annotation(nsKey("app")) == "b" },
		)
		stays := func() {
			t.Helper()
			for _, k := range []store.Key{done, pod} {
				if !c.has("a", k) || c.has("b", k) {
					t.Fatalf("%s: on a %v, on b %v", k, c.has("a", k), c.has("b", k))
				}
				if at, ok := c.d.Located(k); !ok || len(at.Targets) != 1 || at.Targets[0] != "a" {
					t.Errorf("%s is said to be on %v", k, at.Targets)
				}
			}
			if !c.has("a", nsKey("app")) {
				t.Fatal("its Namespace is gone from a")
			}
		}
		stays()
		c.restart()
		stays()
		c.label(done, map[string]any{v1alpha1.LabelTarget: "b"})
		c.placement("p", 1, []any{"b"}, nil)
		c.eventually("looked at", func() bool { return c.moving(placementOf("p")) != nil })
		stays()
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("the rest on its way back", func() bool { return c.has("a", web) })
		c.put(done, nil)
		if c.has("a", done) {
			t.Error("a deleted Job stays")
		}
	})
}

func TestAJobThatIsMadeAnewRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		done := c.job("done", "")
		c.eventually("on a", func() bool { return c.has("a", done) })
		c.end(done, complete)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("the namespace moves", func() bool { return c.annotation(nsKey("app")) == "b" })
		c.put(done, nil)
		m := map[string]any{"name": "done", "namespace": "app", "uid": "another"}
		c.put(done, obj("batch/v1", "Job", m, "spec", map[string]any{}))
		c.eventually("on b", func() bool { return c.has("b", done) && !c.has("a", done) })
		c.d.catalog.RLock()
		defer c.d.catalog.RUnlock()
		if n := len(c.d.catalog.Finished); n != 0 {
			t.Errorf("%d finished objects are remembered", n)
		}
	})
}

// A Job that is suspended has not begun, see TestWhatHasBegunStaysUntilItEnds for others.
func TestAJobThatHasNotBegunIsMovedAndWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		runs := c.job("runs", "")
		c.eventually("on a", func() bool { return c.has("a", runs) })
		c.report("a", runs, nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("off a", func() bool { return !c.has("a", runs) })
		if c.has("b", runs) {
			t.Error("it may run on a, and is on b")
		}
		c.gone("a", runs)
		c.eventually("on b", func() bool { return c.has("b", runs) })
		moving := func() string { status, _, _ := c.namespaceMoving(); return status }
		c.report("b", runs, func(p *placement.Progress) { p.Ready = false })
		time.Sleep(time.Minute)
		if synctest.Wait(); moving() != "True" {
			t.Error("not waited for")
		}
		c.report("b", runs, nil)
		c.eventually("it has moved", func() bool { return moving() != "True" })
	})
}
