package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// Create implements spaceapi.Creator.
func (c *center) Create(_ context.Context, k store.Key, _ string, o map[string]any) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[k] != nil {
		return nil, spaceapitest.AlreadyExists(k)
	}
	o = spaceapitest.Clone(o)
	m := fields.Map(o, "metadata")
	m["uid"], m["generation"] = fmt.Sprint("uid-", k, c.revision), 1
	c.commit(k, o)
	return spaceapitest.Clone(c.objects[k]), nil
}

// Delete implements spaceapi.Deleter.
func (c *center) Delete(_ context.Context, k store.Key, _, uid string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := c.objects[k]; {
	case o == nil:
		return spaceapitest.NotFound(k)
	case fields.Clone(o, "metadata", "uid") != uid:
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("x").GroupResource(), k.Name, errors.New("another UID"))
	}
	c.commit(k, nil)
	return nil
}

// hookAnswers is a webhook.
type hookAnswers struct {
	mu     sync.Mutex
	answer func(call v1alpha1.HookCall) (int, error)
	calls  []v1alpha1.HookCall
}

func (h *hookAnswers) call(
	_ context.Context,
	space string,
	_ *v1alpha1.WebhookHook,
	key string,
	body []byte,
) (int, string, error) {
	var call v1alpha1.HookCall
	if err := json.Unmarshal(body, &call); err != nil || call.Key != key || call.Space != space {
		return 0, "", fmt.Errorf("not a call: %s: %w", body, err)
	}
	h.mu.Lock()
	h.calls = append(h.calls, call)
	answer := h.answer
	h.mu.Unlock()
	code, err := answer(call)
	return code, "said", err
}

func (h *hookAnswers) all() []v1alpha1.HookCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

func (h *hookAnswers) set(answer func(call v1alpha1.HookCall) (int, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// jobs are the Jobs of the namespace app.
func (c *center) jobs() (out []store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.objects {
		if k.Resource == "jobs" {
			out = append(out, k)
		}
	}
	return out
}

// hookJob waits for the only Job, on a target alone.
func (c *center) hookJob(target string) (k store.Key) {
	c.t.Helper()
	c.eventually("a Job at "+target, func() bool {
		jobs := c.jobs()
		if len(jobs) == 1 {
			k = jobs[0]
		}
		return len(jobs) == 1 && c.has(target, k)
	})
	return k
}

func (c *center) endHook(k store.Key, condition string) {
	c.end(k, map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True",
		"reason": "BackoffLimitExceeded", "message": "exit 3"}}})
}

func (c *center) toldOf(reason string) (out []string) {
	c.reports.Lock()
	defer c.reports.Unlock()
	for _, e := range c.events {
		if e.Reason == reason {
			out = append(out, e.Message)
		}
	}
	return out
}

func jobHook(more map[string]any) map[string]any {
	h := map[string]any{"name": "save", "job": map[string]any{"namespace": "app", "fromCronJob": "save"}, "timeout": "5m"}
	for k, v := range more {
		h[k] = v
	}
	return h
}

func webHook(more map[string]any) map[string]any {
	h := jobHook(map[string]any{"webhook": map[string]any{"url": "https://x.example.com", "timeoutSeconds": int64(10)}})
	delete(h, "job")
	for k, v := range more {
		h[k] = v
	}
	return h
}

// movesWithHook is a shop whose Deployment is on a, and is wished on b, where it is available.
func movesWithHook(t *testing.T, kind string, hooks ...any) (c *center, p, web store.Key) {
	c = shop(t)
	c.target("c", nil)
	move := map[string]any{"move": map[string]any{"type": kind, "beforeLeaving": hooks}}
	c.placement("p", 1, []any{"a"}, move)
	c.namespace("app", nil)
	m := meta("save")
	m["namespace"] = "app"
	container := map[string]any{"name": "x", "image": "x", "env": []any{map[string]any{"name": "OWN", "value": "1"}}}
	c.put(key("batch", "cronjobs", "save"), obj("batch/v1", "CronJob", m, "spec", map[string]any{"suspend": true,
		"jobTemplate": map[string]any{"metadata": map[string]any{"labels": map[string]any{"l": "1"}},
			"spec": map[string]any{"backoffLimit": 1, "ttlSecondsAfterFinished": 5, "template": map[string]any{
				"spec": map[string]any{"containers": []any{container}}}}}}))
	web = c.deployment("web", map[string]any{"app": "web"}, "")
	c.eventually("on a", func() bool { return c.has("a", web) })
	c.report("a", web, nil)
	p = c.placement("p", 2, []any{"b"}, move)
	if kind != "BreakBeforeMake" {
		c.eventually("on b", func() bool { return c.has("b", web) })
		if len(c.jobs()) > 0 || len(c.webhook.all()) > 0 {
			t.Fatal("the hook runs before b is ready")
		}
		c.report("b", web, nil)
	}
	return c, p, web
}

// staysFor checks that nothing leaves a for a while.
func (c *center) staysFor(target string, k store.Key, d time.Duration) {
	c.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if !c.has(target, k) {
		c.t.Fatalf("%s is left after %s", target, d)
	}
}

func TestAJobRunsWhereATargetIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, web := movesWithHook(t, "MakeBeforeBreak", jobHook(nil))
		job := c.hookJob("a")
		if c.has("b", job) || c.has("c", job) {
			t.Error("the Job is elsewhere, too")
		}
		o, _ := c.Get(t.Context(), job, "")
		pod := fields.Map(o, "spec", "template", "spec")
		if env := fmt.Sprint(pod["containers"]); !strings.Contains(env, "SKERRY_HOOK_TARGET value:a") ||
			!strings.Contains(env, "OWN value:1") || !strings.Contains(env, "SKERRY_HOOK_TARGETS value:b") {
			t.Errorf("the container has %v", env)
		}
		if s := fields.Map(o, "spec"); fmt.Sprint(s["activeDeadlineSeconds"], s["backoffLimit"], s["ttlSecondsAfterFinished"]) !=
			"300 1 <nil>" || fields.Clone(o, "metadata", "labels", "l") != "1" || !strings.HasPrefix(job.Name, "save-") {
			t.Errorf("the Job is %v", o)
		}
		c.eventually("it says so", func() bool { return c.moving(p)["reason"] == "HookRunning" })
		c.staysFor("a", web, 4*time.Minute)
		c.restart()
		c.staysFor("a", web, 30*time.Second)
		if again := c.hookJob("a"); again != job {
			t.Errorf("after a restart it is %v", again)
		}
		c.endHook(job, "Complete")
		c.eventually("left", func() bool { return !c.has("a", web) })
		c.eventually("the Job is gone", func() bool { return len(c.jobs()) == 0 && !c.has("a", job) })
		c.eventually("settled", func() bool { return c.moving(p)["reason"] == "Settled" })
		if told := c.toldOf("HookEnded"); len(told) != 1 || told[0] != "hook save has ended at a" {
			t.Errorf("it was told %q", told)
		}
		c.d.hooks.mu.Lock()
		defer c.d.hooks.mu.Unlock()
		if len(c.d.hooks.calls)+len(c.d.hooks.of)+c.d.catalog.HookFailures.Count() > 0 || len(c.d.catalog.HookMarks) > 0 {
			t.Error("something is kept of a hook that has ended")
		}
	})
}

func TestAHookRunsBeforeWhatBreaksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, web := movesWithHook(t, "BreakBeforeMake", jobHook(nil))
		job := c.hookJob("a")
		c.staysFor("a", web, time.Minute)
		if c.has("b", web) {
			t.Error("it is on b already")
		}
		c.endHook(job, "Complete")
		c.eventually("left", func() bool { return !c.has("a", web) })
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) })
	})
}

func TestAHookThatFailsHoldsTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, web := movesWithHook(t, "MakeBeforeBreak", jobHook(nil))
		first := c.hookJob("a")
		c.endHook(first, "Failed")
		c.eventually("it says so", func() bool { return c.moving(p)["reason"] == "HookFailed" })
		if said := c.moving(p)["message"].(string); !strings.Contains(said, "failed at a, attempt 1") ||
			!strings.Contains(said, "BackoffLimitExceeded: exit 3") {
			t.Errorf("it says %q", said)
		}
		if c.jobs()[0] != first {
			t.Error("the Job that failed cannot be looked at")
		}
		time.Sleep(12 * time.Second)
		second := c.hookJob("a")
		if second == first {
			t.Fatal("it is not tried again")
		}
		time.Sleep(5*time.Minute + 2*time.Second) // its timeout
		synctest.Wait()
		if told := c.toldOf("HookFailed"); len(told) != 2 || !strings.Contains(told[1], "it took longer than 5m0s") {
			t.Errorf("it was told %q", told)
		}
		time.Sleep(21 * time.Second)
		c.endHook(c.hookJob("a"), "Complete")
		c.eventually("left", func() bool { return !c.has("a", web) })
	})
}

func TestAHookWhoseFailureIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, web := movesWithHook(t, "MakeBeforeBreak", jobHook(map[string]any{"failurePolicy": "Ignore"}))
		c.endHook(c.hookJob("a"), "Failed")
		c.eventually("left", func() bool { return !c.has("a", web) })
		if told := c.toldOf("HookIgnored"); len(told) != 1 || !strings.Contains(told[0], "exit 3") {
			t.Errorf("it was told %q", told)
		}
	})
}

func TestAHookEndsWhenItsTargetIsWishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, web := movesWithHook(t, "MakeBeforeBreak", jobHook(nil))
		job := c.hookJob("a")
		move := map[string]any{"move": map[string]any{"beforeLeaving": []any{jobHook(nil)}}}
		c.placement("p", 3, []any{"a"}, move)
		c.eventually("the Job is gone", func() bool { return len(c.jobs()) == 0 && !c.has("a", job) })
		c.eventually("b is taken back", func() bool { return !c.has("b", web) })
		time.Sleep(time.Minute)
		c.placement("p", 4, []any{"b"}, move)
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, nil)
		if again := c.hookJob("a"); again == job {
			t.Error("the hook of the first move counts for the second")
		}
	})
}

func TestATargetThatIsLostIsLeftWithoutItsHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, web := movesWithHook(t, "MakeBeforeBreak", jobHook(nil))
		c.hookJob("a")
		c.lease.Store(&placement.Lease{Wanted: true, Held: true, Ends: time.Now().Add(time.Minute)})
		c.away("a", true, map[string]any{})
		c.staysFor("a", web, 58*time.Second)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if c.has("a", web) || len(c.jobs()) > 0 {
			t.Error("a is not left when its lease has ended")
		}
		if told := c.toldOf("HookSkipped"); len(told) != 1 || !strings.Contains(told[0], "its lease has ended") {
			t.Errorf("it was told %q", told)
		}
	})
}

func TestAHookRunsWhereNothingNewMayBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, web := movesWithHook(t, "MakeBeforeBreak", jobHook(nil))
		first := c.hookJob("a")
		c.spec("a", map[string]any{"unschedulable": true, "taints": []any{
			map[string]any{"key": "skerry.dev/drain", "effect": "NoExecute"}}}, nil)
		c.staysFor("a", web, time.Minute)
		c.endHook(first, "Failed")
		time.Sleep(13 * time.Second)
		second := c.hookJob("a")
		if second == first {
			t.Fatal("no second attempt")
		}
		c.endHook(second, "Complete")
		c.eventually("left", func() bool { return !c.has("a", web) })
	})
}

func TestAWebhookIsCalledUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan int, 10)
		c, _, web := movesWithWebhook(t, answers)
		answers <- 202
		answers <- 202
		c.staysFor("a", web, 12*time.Second)
		answers <- 500
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if told := c.toldOf("HookFailed"); len(told) != 1 || !strings.Contains(told[0], "answers 500: said") {
			t.Errorf("it was told %q", told)
		}
		c.restart()
		answers <- 200
		c.eventually("left", func() bool { time.Sleep(time.Second); return !c.has("a", web) })
		calls := c.webhook.all()
		for _, call := range calls {
			if call.Key != calls[0].Key || call.Target != "a" || call.Placement != "p" || call.Hook != "save" ||
				!slices.Equal(call.Targets, []string{"b"}) {
				t.Errorf("a call says %+v, the first %+v", call, calls[0])
			}
		}
		if n := len(calls); n != 4 || calls[0].Attempt != 1 || calls[n-1].Attempt != 2 {
			t.Errorf("%d calls: %+v", n, calls)
		}
	})
}

// movesWithWebhook is a move that waits for a webhook, which gives one answer after the other.
func movesWithWebhook(t *testing.T, answers chan int) (*center, store.Key, store.Key) {
	c := shop(t)
	c.webhook.set(func(v1alpha1.HookCall) (int, error) { return <-answers, nil })
	move := map[string]any{"move": map[string]any{"beforeLeaving": []any{webHook(nil)}}}
	c.placement("p", 1, []any{"a"}, move)
	c.namespace("app", nil)
	web := c.deployment("web", map[string]any{"app": "web"}, "")
	c.eventually("on a", func() bool { return c.has("a", web) })
	c.report("a", web, nil)
	p := c.placement("p", 2, []any{"b"}, move)
	c.eventually("on b", func() bool { return c.has("b", web) })
	c.report("b", web, nil)
	return c, p, web
}

// An object that passes from a Placement to a wish of its own leaves with the hooks of the Placement.
func TestAnObjectThatPassesOnLeavesWithHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, web := movesWithHook(t, "MakeBeforeBreak")
		c.eventually("left", func() bool { return !c.has("a", web) })
		c.placement("p", 3, []any{"b"}, map[string]any{"move": map[string]any{"beforeLeaving": []any{jobHook(nil)}}})
		c.label(web, map[string]any{v1alpha1.LabelTarget: "c"})
		c.eventually("on c", func() bool { return c.has("c", web) })
		c.report("c", web, nil)
		job := c.hookJob("b")
		c.staysFor("b", web, time.Minute)
		c.restart()
		c.endHook(job, "Complete")
		c.eventually("left", func() bool { return !c.has("b", web) })
		c.eventually("the Job is gone", func() bool { return len(c.jobs()) == 0 })
	})
}
