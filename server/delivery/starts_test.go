package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// jobSite is a site that runs a Job as a cluster does, one Pod after the other, a minute each. It reports the Job's
// status, and what is taken away from it ends.
type jobSite struct {
	c      *center
	name   string
	starts int
	ended  int // Pods that have ended since it has the Job
	runs   bool
}

// minute goes on by a minute. It returns true when the Job is complete here.
func (s *jobSite) minute(job store.Key, completions int) bool {
	if !s.c.has(s.name, job) {
		if s.runs || s.ended > 0 {
			s.c.gone(s.name, job)
		}
		s.runs, s.ended = false, 0
		return false
	}
	if s.runs {
		s.ended++
	}
	if s.runs = s.ended < completions; s.runs {
		s.starts++
	}
	status := `{"startTime":"2026-01-01T00:00:00Z","active":1}`
	if !s.runs {
		status = `{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Complete","status":"True"}]}`
	}
	says := placement.Judge(job, store.Report{Status: []byte(status)})
	s.c.report(s.name, job, func(p *placement.Progress) { p.Begun, p.Ready = says.Begun, says.Ready })
	return !s.runs
}

// A Job that is to run five Pods starts five, whatever moves it in the middle. The space shows its end a minute after
// the site has reported it.
func TestAJobOfFiveStartsFive(t *testing.T) {
	const completions = 5
	atA := map[string]any{"move": map[string]any{"type": "MakeBeforeBreak"}}
	breaks := map[string]any{"move": map[string]any{"type": "BreakBeforeMake"}}
	hooked := map[string]any{"move": map[string]any{"type": "BreakBeforeMake", "beforeLeaving": []any{webHook(nil)}}}
	for name, test := range map[string]struct {
		policy map[string]any // of a Placement; nil is the label of the Namespace
		move   func(c *center)
	}{
		"the label of its Namespace": {nil, func(c *center) { c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"}) }},
		"its own label": {nil, func(c *center) {
			c.label(key("batch", "jobs", "load"), map[string]any{v1alpha1.LabelTarget: "b"})
		}},
		"its Placement":                   {atA, func(c *center) { c.placement("p", 2, []any{"b"}, atA) }},
		"one that breaks first":           {breaks, func(c *center) { c.placement("p", 2, []any{"b"}, breaks) }},
		"one that breaks first, and back": {breaks, func(c *center) { thereAndBack(c, breaks) }},
		"one with a hook":                 {hooked, func(c *center) { c.placement("p", 2, []any{"b"}, hooked) }},
		"a Placement that is deleted":     {atA, func(c *center) { c.put(placementOf("p"), nil) }},
		"a drain": {nil, func(c *center) {
			c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
			c.spec("a", drainSpec, nil)
		}},
		"a new leader": {breaks, func(c *center) { c.placement("p", 2, []any{"b"}, breaks); c.restart() }},
	} {
		for after := range completions + 1 {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := shop(t)
					c.webhook.set(func(v1alpha1.HookCall) (int, error) { return 200, nil })
					if c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"}); test.policy != nil {
						c.placement("p", 1, []any{"a"}, test.policy)
					}
					web, job := c.deployment("web", map[string]any{"app": "web"}, ""), key("batch", "jobs", "load")
					m := meta("load")
					m["namespace"], m["labels"] = "app", map[string]any{"app": "web"}
					c.put(job, obj("batch/v1", "Job", m, "spec", map[string]any{"completions": completions}))
					c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", job) })
					sites := []*jobSite{{c: c, name: "a"}, {c: c, name: "b"}}
					complete := false
					for minute := range 40 {
						if complete {
							c.end(job, map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}})
						}
						for _, s := range sites {
							c.reportIfHas(s.name, web)
							complete = s.minute(job, completions) || complete
						}
						if minute == after {
							test.move(c)
						}
						time.Sleep(time.Minute)
						synctest.Wait()
					}
					if a, b := sites[0].starts, sites[1].starts; a+b != completions {
						t.Errorf("moved after %d minutes: %d starts at a, %d at b", after, a, b)
					}
				})
			})
		}
	}
}

// thereAndBack moves a Placement to b, and back before anything has moved.
func thereAndBack(c *center, policy map[string]any) {
	c.placement("p", 2, []any{"b"}, policy)
	c.placement("p", 3, []any{"a"}, policy)
	c.placement("p", 4, []any{"b"}, policy)
}
