package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// workloadOf stores an object of the namespace app with a spec.
func (c *center) workloadOf(k store.Key, apiVersion, kind string, spec map[string]any) store.Key {
	m := meta(k.Name)
	m["namespace"] = k.Namespace
	c.put(k, obj(apiVersion, kind, m, "spec", spec))
	return k
}

// TestWhatHasBegunStaysUntilItEnds moves a namespace in which something has begun that must run once.
func TestWhatHasBegunStaysUntilItEnds(t *testing.T) {
	for name, begin := range map[string]func(c *center) store.Key{
		"a Job": func(c *center) store.Key {
			return c.workloadOf(key("batch", "jobs", "load"), "batch/v1", "Job", nil)
		},
		"Jobs of a CronJob": func(c *center) store.Key {
			return c.workloadOf(key("batch", "cronjobs", "load"), "batch/v1", "CronJob", nil)
		},
		"a bare Pod": func(c *center) store.Key {
			return c.workloadOf(key("", "pods", "load"), "v1", "Pod", map[string]any{"restartPolicy": "Never"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
				web, load := c.deployment("web", nil, ""), begin(c)
				c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", load) })
				c.report("a", web, nil)
				c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
				stays := func(when string) {
					t.Helper()
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					if c.has("b", load) || !c.has("a", load) {
						t.Fatalf("%s: it has moved", when)
					}
					if _, reason, message := c.namespaceMoving(); reason != "JobRunning" ||
						!strings.Contains(message, "waits for the end of "+load.Resource+"/load on a") {
						t.Fatalf("%s: the Namespace says %s: %s", when, reason, message)
					}
				}
				stays("a has not said whether it has begun")
				c.report("a", load, func(p *placement.Progress) { p.Begun = true })
				stays("it has begun")
				c.restart()
				stays("after a restart")
				c.report("a", load, nil)
				c.eventually("it goes on", func() bool { return c.has("b", web) })
			})
		})
	}
}

// TestAPodThatIsRestartedForEverMoves: it has no end that could be waited for.
func TestAPodThatIsRestartedForEverMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		pod := c.workloadOf(key("", "pods", "shell"), "v1", "Pod", map[string]any{"restartPolicy": "Always"})
		c.eventually("on a", func() bool { return c.has("a", pod) })
		c.report("a", pod, func(p *placement.Progress) { p.Begun = true })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on b", func() bool { return c.has("b", pod) })
	})
}

// TestACronJobMovesLast: while the others get ready on the new site it starts its Jobs on the former one alone.
func TestACronJobMovesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, web, nightly := cronOnA(t, map[string]any{v1alpha1.LabelTarget: "a"})
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("the Deployment is on both", func() bool { return c.has("b", web) })
		c.restart()
		if !c.has("a", web) || !c.has("a", nightly) || c.has("b", nightly) {
			t.Fatalf("the CronJob is on a: %t, on b: %t", c.has("a", nightly), c.has("b", nightly))
		}
		c.report("b", web, nil)
		c.eventually("a is left", func() bool { return !c.has("a", web) && !c.has("a", nightly) && c.has("b", nightly) })
	})
}

// TestACronJobOfALostSiteGoesOn: nobody waits for the word of a site that is said to be down.
func TestACronJobOfALostSiteGoesOn(t *testing.T) {
	c, web, nightly := cronOnA(t, map[string]any{v1alpha1.LabelTarget: "a"})
	c.target("c", nil)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
	c.away("a", true, map[string]any{"taints": []any{
		map[string]any{"key": v1alpha1.TaintOutOfService, "effect": "NoExecute"}}})
	c.eventually("both are elsewhere, and together", func() bool {
		return c.elsewhere(web) && c.elsewhere(nightly) && c.has("b", web) == c.has("b", nightly)
	})
}

// cronOnA has a Deployment and a CronJob on a.
func cronOnA(t *testing.T, labels map[string]any) (c *center, web, nightly store.Key) {
	c = shop(t)
	c.namespace("app", labels)
	web = c.deployment("web", nil, "")
	nightly = c.workloadOf(key("batch", "cronjobs", "nightly"), "batch/v1", "CronJob", nil)
	c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", nightly) })
	c.report("a", web, nil)
	c.report("a", nightly, nil)
	return c, web, nightly
}
