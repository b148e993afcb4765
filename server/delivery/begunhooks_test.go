package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// What has begun stays until it ends, and the rest of its unit leaves at once, with a hook or without, whether it
// breaks first or not. The hook runs once for all, and nothing runs again.
func TestABegunJobStaysWhereAHookRuns(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		hooks []any
	}{
		"breaks first":            {"BreakBeforeMake", []any{}},
		"breaks first, with hook": {"BreakBeforeMake", []any{webHook(nil)}},
		"makes first, with hook":  {"MakeBeforeBreak", []any{webHook(nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, p, web, load := begunJob(t, c.kind, c.hooks)
				f.follows(t, web)
				stays := func(when string) {
					t.Helper()
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					if !f.has("a", load) || f.has("b", load) || f.has("a", web) {
						t.Fatalf("%s: at a the Job %v, the rest %v; at b the Job %v", when, f.has("a", load), f.has("a", web),
							f.has("b", load))
					}
					if n := len(f.webhook.all()); n != len(c.hooks) {
						t.Fatalf("%s: the hook has run %d times: %+v", when, n, f.webhook.all())
					}
				}
				stays("it has begun")
				if s := f.saidMoving(load); s.Reason != "JobRunning" {
					t.Errorf("the Job says %+v", s)
				}
				f.restart()
				stays("after a restart")
				f.end(load, map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}})
				stays("it has ended")
				if reason := f.moving(p)["reason"]; reason != "Settled" {
					t.Errorf("the Placement says %v", f.moving(p))
				}
			})
		})
	}
}

// begunJob is a Deployment and a Job of a Placement on a, of which the Job has begun, and which is now wished on b.
func begunJob(t *testing.T, kind string, hooks []any) (c *center, p, web, load store.Key) {
	c = shop(t)
	move := map[string]any{"move": map[string]any{"type": kind, "beforeLeaving": hooks}}
	c.webhook.set(func(v1alpha1.HookCall) (int, error) { return 200, nil })
	c.placement("p", 1, []any{"a"}, move)
	c.namespace("app", nil)
	web = c.deployment("web", map[string]any{"app": "web"}, "")
	load = key("batch", "jobs", "load")
	m := meta("load")
	m["namespace"], m["labels"] = "app", map[string]any{"app": "web"}
	c.put(load, obj("batch/v1", "Job", m, "spec", map[string]any{"completions": 5}))
	c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", load) })
	c.report("a", web, nil)
	c.report("a", load, func(p *placement.Progress) { p.Begun = true })
	return c, c.placement("p", 2, []any{"b"}, move), web, load
}

// follows waits until an object has left a for b, whose sites do what they are told. It takes no minute.
func (c *center) follows(t *testing.T, k store.Key) {
	t.Helper()
	began := time.Now()
	c.eventually("the rest is on b", func() bool {
		if !c.has("a", k) {
			c.gone("a", k)
		}
		return c.mayReport("b", k, nil) && !c.has("a", k)
	})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the rest has left after %s", took)
	}
}

// A CronJob whose Jobs have ended follows the rest of its unit, which has left long ago, without another hook: what a
// hook saves is not there any more.
func TestACronJobFollowsWithoutAnotherHook(t *testing.T) {
	for _, kind := range []string{"BreakBeforeMake", "MakeBeforeBreak"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				move := map[string]any{"move": map[string]any{"type": kind, "beforeLeaving": []any{webHook(nil)}}}
				c.webhook.set(func(v1alpha1.HookCall) (int, error) { return 200, nil })
				c.placement("p", 1, []any{"a"}, move)
				c.namespace("app", nil)
				web := c.deployment("web", map[string]any{"app": "web"}, "")
				nightly := key("batch", "cronjobs", "nightly")
				m := meta("nightly")
				m["namespace"], m["labels"] = "app", map[string]any{"app": "web"}
				c.put(nightly, obj("batch/v1", "CronJob", m))
				c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", nightly) })
				c.report("a", web, nil)
				c.report("a", nightly, func(p *placement.Progress) { p.Begun = true })
				c.placement("p", 2, []any{"b"}, move)
				c.follows(t, web)
				time.Sleep(20 * time.Minute)
				synctest.Wait()
				if !c.has("a", nightly) || c.has("b", nightly) {
					t.Fatal("the CronJob has moved while its Jobs run")
				}
				if n := len(c.webhook.all()); n != 1 {
					t.Fatalf("the hook has run %d times: %+v", n, c.webhook.all())
				}
				c.report("a", nightly, nil)
				c.follows(t, nightly)
				if n := len(c.webhook.all()); n != 1 {
					t.Errorf("the hook has run %d times: %+v", n, c.webhook.all())
				}
			})
		})
	}
}

// Where the rest of a unit was given up, it does not leave what has begun once more: cut off and joined again in one
// moment, that never ended.
func TestARestThatWasGivenUpStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, web, load := begunJob(t, "BreakBeforeMake", []any{})
		f.eventually("the rest has left a", func() bool { return !f.has("a", web) })
		f.gone("a", web)
		f.eventually("the rest is on b", func() bool { return f.has("b", web) })
		time.Sleep(10 * time.Minute) // and is not ready there in time
		f.eventually("it is given up there", func() bool {
			if !f.has("b", web) {
				f.gone("b", web)
			}
			f.reportIfHas("a", web)
			return f.has("a", web) && !f.has("b", web)
		})
		seq := func() uint64 {
			f.d.catalog.RLock()
			defer f.d.catalog.RUnlock()
			return f.d.catalog.Records.Index.NextSeq()
		}
		before := seq()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := seq() - before; n > 12 { // it is tried again after 1, 2, 4 .. 30 minutes
			t.Errorf("it was cut off %d times", n)
		}
		if !f.has("a", load) || f.has("b", load) {
			t.Errorf("the Job is at a %v, at b %v", f.has("a", load), f.has("b", load))
		}
		for _, m := range f.d.Moves() {
			if m.Key == load {
				t.Errorf("what runs beside its unit moves: %+v", m)
			}
		}
	})
}

// A target that has not said what it has is not left first, so no hook runs for that. It ran in the same moment, for
// ever: what it had released was held, and forgot that.
func TestNoHookRunsForWhatHasNotSpoken(t *testing.T) {
	for name, job := range map[string]bool{"a Deployment": false, "beside a CronJob whose Jobs run": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				move := map[string]any{"move": map[string]any{"type": "BreakBeforeMake", "beforeLeaving": []any{webHook(nil)}}}
				c.webhook.set(func(v1alpha1.HookCall) (int, error) { return 200, nil })
				c.placement("p", 1, []any{"a"}, move)
				c.namespace("app", nil)
				web := c.deployment("web", map[string]any{"app": "web"}, "")
				nightly := key("batch", "cronjobs", "nightly")
				if job {
					m := meta("nightly")
					m["namespace"], m["labels"] = "app", map[string]any{"app": "web"}
					c.put(nightly, obj("batch/v1", "CronJob", m))
					c.eventually("on a", func() bool { return c.has("a", nightly) })
					c.report("a", nightly, func(p *placement.Progress) { p.Begun = true })
				}
				c.eventually("on a", func() bool { return c.has("a", web) })
				c.placement("p", 2, []any{"b"}, move)
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := len(c.webhook.all()); n != 0 || !c.has("a", web) {
					t.Errorf("the hook has run %d times, on a: %v", n, c.has("a", web))
				}
				c.report("a", web, nil)
				c.follows(t, web)
				if n := len(c.webhook.all()); n != 1 {
					t.Errorf("the hook has run %d times", n)
				}
			})
		})
	}
}
