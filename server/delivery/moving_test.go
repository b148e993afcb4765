package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// gone makes a target say that it does not have an object any more.
func (c *center) gone(target string, k store.Key) {
	c.reports.Lock()
	delete(c.progress[target], k)
	c.reports.Unlock()
	c.d.Reported(target, []store.Key{k})
}

func (c *center) namespaceMoving() (status, reason, message string) {
	o, _ := c.Get(c.t.Context(), nsKey("app"), "v1")
	m := catalog.ReadConditions(o).Get(v1alpha1.ConditionObjectMoving)
	return fields.Clone(m, "status"), fields.Clone(m, "reason"), fields.Clone(m, "message")
}

func TestAMoveThatTakesTooLongGoesBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web, cm := c.deployment("web", nil, "one"), c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", cm) })
		c.report("a", web, nil)
		c.report("a", cm, nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on both", func() bool { return c.has("b", web) && c.has("b", cm) })
		c.report("b", cm, nil)
		c.report("b", web, func(p *placement.Progress) { p.Available = 1 })
		time.Sleep(5 * time.Minute)
		c.restart()
		time.Sleep(5*time.Minute - time.Second)
		synctest.Wait()
		if !c.has("b", web) || c.annotation(nsKey("app")) != "a,b" {
			t.Fatal("given up too early")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if c.has("b", web) || c.has("b", cm) || !c.has("a", web) || c.annotation(nsKey("app")) != "a" {
			t.Fatalf("not back on a: record %q", c.annotation(nsKey("app")))
		}
		one, _ := c.d.Feed("b").Get(web)
		if two, _ := c.d.Feed("b").Get(cm); one.Revision != two.Revision || one.Revision == 0 {
			t.Errorf("back in two decisions: %d and %d", one.Revision, two.Revision)
		}
		if status, reason, message := c.namespaceMoving(); status != "False" || reason != "ReadyTimeout" ||
			!strings.Contains(message, "deployments/web") || !strings.Contains(message, "tried again when") {
			t.Errorf("the Namespace says %q %q %q", status, reason, message)
		}
		c.mu.Lock()
		patches := c.patches[nsKey("app")]
		c.mu.Unlock()
		c.restart()
		c.report("a", web, nil)
		c.report("a", web, func(p *placement.Progress) { p.Available = 2 })
		time.Sleep(time.Hour)
		synctest.Wait()
		c.mu.Lock()
		if c.patches[nsKey("app")] != patches || c.has("b", web) {
			t.Error("it was tried again though nothing had changed")
		}
		c.mu.Unlock()
	})
}

// givenUp is a shop where a move of the namespace from a to b was given up.
func givenUp(t *testing.T) (c *center, web, cm store.Key) {
	c = shop(t)
	c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
	web, cm = c.deployment("web", nil, "one"), c.configMap("one")
	c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", cm) })
	c.report("a", web, nil)
	c.report("a", cm, nil)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
	time.Sleep(11 * time.Minute)
	synctest.Wait()
	if c.has("b", web) || !c.has("a", web) {
		t.Fatal("not given up")
	}
	return c, web, cm
}

func TestAMoveThatWasGivenUpIsTriedAgainWhenSomethingChanges(t *testing.T) {
	changes := map[string]func(c *center, web, cm store.Key){
		"the workload": func(c *center, web, _ store.Key) {
			c.deployment("web", map[string]any{"fixed": "yes"}, "one")
		},
		"what it names": func(c *center, _, cm store.Key) {
			c.mu.Lock()
			defer c.mu.Unlock()
			o := spaceapitest.Clone(c.objects[cm])
			o["data"] = map[string]any{"k": "fixed"}
			c.commit(cm, o)
		},
		"the target":   func(c *center, _, _ store.Key) { c.target("b", map[string]any{"region": "south", "gpu": "yes"}) },
		"a new object": func(c *center, _, _ store.Key) { c.configMap("two") },
	}
	for what, change := range changes {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, web, cm := givenUp(t)
				change(c, web, cm)
				c.eventually("tried again", func() bool { return c.has("b", web) && c.has("a", web) })
			})
		})
	}
	t.Run("the wish", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, web, _ := givenUp(t)
			c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
			c.eventually("settled", func() bool { _, reason, _ := c.namespaceMoving(); return reason == "Settled" })
			c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
			c.eventually("tried again", func() bool { return c.has("b", web) && c.has("a", web) })
		})
	})
}

func TestATargetThatComesBackIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.deployment("web", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		session := func(status string) {
			m := meta("b")
			m["labels"] = map[string]any{"region": "south"}
			c.put(rootKey("synctargets", "b"), obj("skerry.dev/v1alpha1", "SyncTarget", m, "status", map[string]any{
				"conditions": []any{map[string]any{"type": "Connected", "status": status}}}))
		}
		session("False")
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if c.has("b", web) {
			t.Fatal("not given up")
		}
		session("True")
		c.eventually("tried again", func() bool { return c.has("b", web) && c.has("a", web) })
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		session("False")
		session("True")
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.has("b", web) {
			t.Error("a target that was there when the move was given up is no news")
		}
	})
}

var breakFirst = map[string]any{"move": map[string]any{"type": "BreakBeforeMake", "readyTimeout": "1m"}}

func TestBreakBeforeMakeIsNeverInTwoPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		p := c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.placement("p", 2, []any{"b"}, breakFirst)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !c.has("a", web) || c.has("b", web) {
			t.Fatal("moved before a has said what it has: its silence would mean nothing then")
		}
		c.report("a", web, nil)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		time.Sleep(5 * time.Second)
		c.restart()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if c.has("b", web) || c.moving(p)["reason"] != "BreakBeforeMake" {
			t.Fatalf("a still has it, and the Placement says %v", c.moving(p))
		}
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) && !c.has("a", web) })
		c.report("b", web, nil)
		c.eventually("settled", func() bool { return c.moving(p)["reason"] == "Settled" })
		if o, _ := c.Get(t.Context(), p, ""); fields.Map(o, "status")["move"] != nil {
			t.Errorf("the record of the move stays: %v", o["status"])
		}
	})
}

func TestBreakBeforeMakeGoesBackWhenTheNewPlaceIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		p := c.placement("p", 1, []any{"a"}, breakFirst)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 2, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, func(p *placement.Progress) { p.Available = 0 })
		time.Sleep(62 * time.Second)
		synctest.Wait()
		if c.has("b", web) || c.has("a", web) {
			t.Fatal("b has not confirmed that it is gone")
		}
		c.gone("b", web)
		c.eventually("back on a", func() bool { return c.has("a", web) && !c.has("b", web) })
		if m := c.moving(p); m["reason"] != "ReadyTimeout" {
			t.Errorf("the Placement says %v", m)
		}
		c.report("a", web, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.has("b", web) || !c.has("a", web) {
			t.Error("tried again though nothing had changed")
		}
	})
}

func TestTheTimeOfASuspendedMoveStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		minute := map[string]any{"readyTimeout": "1m"}
		c.placement("p", 1, []any{"a"}, map[string]any{"move": minute})
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 2, []any{"b"}, map[string]any{"move": minute})
		c.eventually("on both", func() bool { return c.has("b", web) })
		c.placement("p", 3, []any{"b"}, map[string]any{"move": minute, "suspend": true})
		time.Sleep(time.Hour)
		c.placement("p", 4, []any{"b"}, map[string]any{"move": minute})
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if !c.has("b", web) {
			t.Error("given up for the time that it was suspended")
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if c.has("b", web) {
			t.Error("its time does not run again")
		}
	})
}

func TestAMoveNamesWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web, one, two := c.deployment("web", nil, ""), c.configMap("one"), c.configMap("two")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", one) && c.has("a", two) })
		for _, k := range []store.Key{web, one, two} {
			c.report("a", k, nil)
		}
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on both", func() bool { return c.has("b", web) && c.has("b", two) })
		for _, k := range []store.Key{web, two} { // "one" comes before them, and is not reported yet
			c.report("b", k, func(p *placement.Progress) {
				p.Refused = &store.ReportError{Reason: "Forbidden", Message: "the site does not allow " + k.Name}
			})
		}
		synctest.Wait()
		const words = "configmaps/two Forbidden: the site does not allow two (and 1 more are refused)"
		if status, _, message := c.namespaceMoving(); status != "True" || !strings.Contains(message, words) {
			t.Errorf("the Namespace says %q %q", status, message)
		}
		told := func(reason string) (n int) {
			c.reports.Lock()
			defer c.reports.Unlock()
			for _, e := range c.events {
				if e.Reason == reason && e.Warning && strings.Contains(e.Message, words) {
					n++
				}
			}
			return n
		}
		if told("MoveHeldUp") != 1 {
			t.Errorf("%d Events", told("MoveHeldUp"))
		}
		c.report("b", one, nil)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if status, reason, message := c.namespaceMoving(); status != "False" || reason != "ReadyTimeout" ||
			!strings.Contains(message, words) {
			t.Errorf("given up, the Namespace says %q %q %q", status, reason, message)
		}
		if c.has("b", web) || told("MoveHeldUp") != 1 || told("MoveGivenUp") != 1 {
			t.Errorf("on b: %v, Events: %d and %d", c.has("b", web), told("MoveHeldUp"), told("MoveGivenUp"))
		}
	})
}

// The old target is kept until the new one has been ready for minReadySeconds without a break.
func TestANewTargetIsReadyForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		gate := map[string]any{"move": map[string]any{"minReadySeconds": int64(30), "readyTimeout": "5m"}}
		c.placement("p", 1, []any{"a"}, gate)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		p := c.placement("p", 2, []any{"b"}, gate)
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, nil)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if !c.has("a", web) || !strings.Contains(fields.Clone(c.moving(p), "message"), "minReadySeconds is 30") {
			t.Fatalf("a is left after 25 s, or nothing is said: %v", c.moving(p))
		}
		c.report("b", web, func(p *placement.Progress) { p.Available = 0 })
		time.Sleep(time.Second)
		c.report("b", web, nil)
		c.leftAfterAWhile("a", web)
		c.eventually("settled", func() bool { return c.moving(p)["reason"] == "Settled" })
		if len(c.d.readiness) != 0 {
			t.Error("something is kept of what has moved")
		}
	})
}

// So it is for objects that pass to a Placement.
func TestAPassedObjectIsReadyForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 1, []any{"b"}, map[string]any{"move": map[string]any{"minReadySeconds": int64(30)}})
		c.eventually("on b", func() bool { return c.has("b", web) })
		time.Sleep(time.Second)
		synctest.Wait() // the object is rendered once more, as one of the Placement's: b reports that
		c.report("b", web, nil)
		c.leftAfterAWhile("a", web)
	})
}

// leftAfterAWhile checks that a target has an object for 25 s, and 6 s later does not.
func (c *center) leftAfterAWhile(target string, k store.Key) {
	c.t.Helper()
	time.Sleep(25 * time.Second)
	synctest.Wait()
	if !c.has(target, k) {
		c.t.Fatalf("%s is left after 25 s", target)
	}
	time.Sleep(6 * time.Second)
	synctest.Wait()
	if c.has(target, k) {
		c.t.Fatalf("%s is never left", target)
	}
}
