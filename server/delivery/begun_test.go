package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// workloadOf stores an object of the namespace app with a spec.
func (c *center) workloadOf(k store.Key, apiVersion, kind string, spec map[string]any) store.Key {
	m := meta(k.Name)
	m["namespace"] = k.Namespace
	c.put(k, obj(apiVersion, kind, m, "spec", spec))
	return k
}

// TestWhatHasBegunStaysUntilItEnds moves a namespace in which something has begun that must run once. The rest
// moves, but for what that needs, and it follows when it has ended.
func TestWhatHasBegunStaysUntilItEnds(t *testing.T) {
	pod := map[string]any{"restartPolicy": "Never", "volumes": []any{
		map[string]any{"name": "v", "configMap": map[string]any{"name": "one"}}}}
	template := map[string]any{"template": map[string]any{"spec": pod}}
	for name, begin := range map[string]func(c *center) store.Key{
		"a Job": func(c *center) store.Key {
			return c.workloadOf(key("batch", "jobs", "load"), "batch/v1", "Job", template)
		},
		"Jobs of a CronJob": func(c *center) store.Key {
			return c.workloadOf(key("batch", "cronjobs", "load"), "batch/v1", "CronJob",
				map[string]any{"jobTemplate": map[string]any{"spec": template}})
		},
		"a bare Pod": func(c *center) store.Key {
			return c.workloadOf(key("", "pods", "load"), "v1", "Pod", pod)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
				needed := c.configMap("one")
				web, load := c.deployment("web", nil, ""), begin(c)
				c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", load) && c.has("a", needed) })
				for _, k := range []store.Key{web, needed, load} {
					c.report("a", k, func(p *placement.Progress) { p.Begun = k == load })
				}
				c.spec("a", drainSpec, nil)
				c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
				c.eventually("the rest is on both", func() bool { return c.has("b", web) && c.has("b", needed) && c.has("a", web) })
				c.report("b", web, nil)
				c.report("b", needed, nil)
				c.eventually("the rest has moved", func() bool { return !c.has("a", web) })
				stays := func(when string) {
					t.Helper()
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					if c.has("b", load) || !c.has("a", load) || !c.has("a", needed) || !c.has("a", nsKey("app")) {
						t.Fatalf("%s: it has moved, or what it needs", when)
					}
					if s := c.saidMoving(load); s.Reason != "JobRunning" ||
						!strings.Contains(s.Message, "waits for the end of "+load.Resource+"/load on a") {
						t.Fatalf("%s: it says %+v", when, s)
					}
					if left, leaves := c.d.Remaining("a"); !leaves || left.Units != 1 {
						t.Fatalf("%s: left on a: %+v", when, left)
					}
				}
				stays("it has begun")
				c.restart()
				stays("after a restart")
				c.report("a", load, nil)
				c.eventually("it is on b", func() bool {
					if !c.has("a", load) {
						c.gone("a", load)
					}
					return c.has("b", load)
				})
				c.reportIfHas("b", load)
				c.eventually("and not on a", func() bool {
					c.reportIfHas("b", load)
					left, _ := c.d.Remaining("a")
					return !c.has("a", load) && !c.has("a", needed) && c.has("b", load) && left.Units == 0
				})
			})
		})
	}
}

// TestADrainRestartsWhatHasBegun drains a site with spec.drain.jobs Restart. What has begun there leaves it, and
// begins elsewhere once the site has said that it is gone; the rest of its unit does not wait for that.
func TestADrainRestartsWhatHasBegun(t *testing.T) {
	restart := map[string]any{"taints": drainSpec["taints"], "unschedulable": true,
		"drain": map[string]any{"jobs": "Restart"}}
	for name, c := range map[string]struct {
		k     store.Key
		kind  string
		spec  map[string]any
		label bool // it has a wish of its own, so that it is a unit by itself
	}{
		"a Job":             {k: key("batch", "jobs", "load"), kind: "batch/v1 Job"},
		"a Job by itself":   {k: key("batch", "jobs", "load"), kind: "batch/v1 Job", label: true},
		"Jobs of a CronJob": {k: key("batch", "cronjobs", "load"), kind: "batch/v1 CronJob"},
		"a bare Pod": {k: key("", "pods", "load"), kind: "v1 Pod",
			spec: map[string]any{"restartPolicy": "Never"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				load, at := c.k, shop(t)
				at.target("b", map[string]any{"tier": "b"})
				at.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
				web := at.deployment("web", nil, "")
				apiVersion, kind, _ := strings.Cut(c.kind, " ")
				at.workloadOf(load, apiVersion, kind, c.spec)
				at.eventually("on a", func() bool { return at.has("a", web) && at.has("a", load) })
				if c.label {
					at.label(load, map[string]any{v1alpha1.LabelTarget: "a"})
				}
				for _, k := range []store.Key{web, load} {
					at.report("a", k, func(p *placement.Progress) { p.Begun = k == load })
				}
				at.spec("a", restart, nil)
				at.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
				if c.label {
					at.label(load, map[string]any{v1alpha1.LabelTarget: "b"})
				}
				at.eventually("the rest comes to b", func() bool { return at.has("b", web) })
				at.report("b", web, nil)
				at.eventually("what has begun is taken off a", func() bool { return !at.has("a", load) && !at.has("a", web) })
				nowhere := func(when string) {
					t.Helper()
					time.Sleep(5 * time.Minute)
					synctest.Wait()
					if at.has("b", load) || at.has("a", load) {
						t.Fatalf("%s: it is on a: %t, on b: %t", when, at.has("a", load), at.has("b", load))
					}
				}
				nowhere("it may still run")
				at.restart()
				nowhere("after a restart")
				at.gone("a", load)
				at.eventually("it begins on b", func() bool { return at.has("b", load) && !at.has("a", load) })
				at.reportIfHas("b", load)
				at.eventually("a is left", func() bool {
					left, leaves := at.d.Remaining("a")
					return leaves && left.Units == 0
				})
			})
		})
	}
}

// TestWhatMayHaveBegunStays: what a site has not spoken of may run there.
func TestWhatMayHaveBegunStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		load := c.workloadOf(key("batch", "jobs", "load"), "batch/v1", "Job", nil)
		c.eventually("on a", func() bool { return c.has("a", load) })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if c.has("b", load) || !c.has("a", load) {
			t.Fatal("it has moved")
		}
		if _, reason, message := c.namespaceMoving(); reason != "JobRunning" {
			t.Fatalf("the Namespace says %s: %s", reason, message)
		}
		c.report("a", load, nil)
		c.eventually("it leaves", func() bool { return !c.has("a", load) })
		c.gone("a", load)
		c.eventually("it goes on", func() bool { return c.has("b", load) })
	})
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
		c.eventually("a is left", func() bool { return !c.has("a", web) && !c.has("a", nightly) })
		c.gone("a", web)
		time.Sleep(time.Minute)
		if synctest.Wait(); c.has("b", nightly) || !c.has("b", web) {
			t.Fatal("it may start Jobs on a, and is on b")
		}
		c.gone("a", nightly)
		c.eventually("it is on b", func() bool { return c.has("b", nightly) })
	})
}

// TestACronJobOfALostSiteGoesOn: nobody waits for the word of a site that is said to be down.
func TestACronJobOfALostSiteGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, web, nightly := cronOnA(t, map[string]any{v1alpha1.LabelTarget: "a"})
		c.target("c", nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
		c.away("a", true, map[string]any{"taints": []any{
			map[string]any{"key": v1alpha1.TaintOutOfService, "effect": "NoExecute"}}})
		c.eventually("both are elsewhere, and together", func() bool {
			return c.elsewhere(web) && c.elsewhere(nightly) && c.has("b", web) == c.has("b", nightly)
		})
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

// A CronJob whose Jobs run one after the other leaves when the one that runs has ended: none follows it there. Others
// are not stopped, and neither is one that stays after all.
func TestACronJobThatLeavesStartsNoMore(t *testing.T) {
	for name, alone := range map[string]bool{"by itself": true, "with the rest of its namespace": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
				if !alone {
					web := c.deployment("web", nil, "")
					c.eventually("the rest is on a", func() bool { return c.has("a", web) })
					c.report("a", web, nil)
				}
				cron := func(name, policy string) store.Key {
					return c.workloadOf(key("batch", "cronjobs", name), "batch/v1", "CronJob",
						map[string]any{"concurrencyPolicy": policy, "jobTemplate": map[string]any{}})
				}
				load, other := cron("load", "Forbid"), cron("other", "Allow")
				c.eventually("on a", func() bool { return c.has("a", load) && c.has("a", other) })
				runs := func(k store.Key, is bool) { c.report("a", k, func(p *placement.Progress) { p.Begun = is }) }
				runs(load, true)
				runs(other, false)
				is := func(target string, k store.Key) string {
					sent, _, err := c.d.Feed(target).Body(t.Context(), k)
					if err != nil || !c.has(target, k) {
						return "gone"
					}
					body, _, err := variant.Share(sent, target)
					switch {
					case err != nil || strings.Contains(string(body), "skerry.dev/stops"):
						t.Errorf("it gets %s, %v", body, err)
					case strings.Contains(string(body), `"suspend":true`):
						return "suspended"
					}
					return "there"
				}
				suspended := func(target string, k store.Key) bool { return is(target, k) == "suspended" }
				if suspended("a", load) {
					t.Fatal("it is suspended where it stays")
				}
				c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
				c.eventually("it starts no more", func() bool { return suspended("a", load) })
				c.restart()
				c.eventually("the same after a restart", func() bool { return suspended("a", load) })
				c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
				c.eventually("it stays, and starts them again", func() bool { return is("a", load) == "there" })
				c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
				c.eventually("it starts no more again", func() bool { return suspended("a", load) })
				if suspended("a", other) {
					t.Error("one that may start beside those that run is stopped, too")
				}
				c.report("a", load, func(p *placement.Progress) { p.Begun = false })
				c.eventually("it is on b", func() bool {
					if is("a", load) == "there" {
						t.Fatal("it starts more before it has left")
					}
					if !c.has("a", load) {
						c.gone("a", load)
					}
					if !c.has("a", other) {
						c.gone("a", other)
					}
					c.reportIfHas("b", other)
					return c.has("b", load)
				})
				c.eventually("and runs there", func() bool { return is("b", load) == "there" })
			})
		})
	}
}
