package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// What a hook runs is mended: it is not waited for until the pause is over.
func TestAHookThatWasMendedIsTriedAgainAtOnce(t *testing.T) {
	for what, mend := range map[string]func(c *center){
		"its CronJob": func(c *center) {
			k := key("batch", "cronjobs", "save")
			c.mu.Lock()
			o := cloneOf(c.objects[k])
			c.mu.Unlock()
			o["spec"].(map[string]any)["mended"] = true
			c.put(k, o)
		},
		"its Placement": func(c *center) {
			c.placement("p", 3, []any{"b"}, map[string]any{"move": map[string]any{"type": "MakeBeforeBreak",
				"beforeLeaving": []any{jobHook(map[string]any{"timeout": "4m"})}}})
		},
		"the center, by a restart": func(c *center) { c.restart() },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p, _ := movesWithHook(t, "MakeBeforeBreak", jobHook(nil))
				first := c.hookJob("a")
				for range 5 { // a pause of 160 s
					c.endHook(first, "Failed")
					c.eventually("it says so", func() bool { return c.moving(p)["reason"] == "HookFailed" })
					if len(c.toldOf("HookFailed")) == 5 {
						break
					}
					time.Sleep(81 * time.Second)
					first = c.hookJob("a")
				}
				if said := c.moving(p)["message"].(string); !strings.Contains(said, "attempt 5, and is tried again at 20") ||
					!strings.Contains(said, "of CronJob app/save, tries it again at once") {
					t.Errorf("it says %q", said)
				}
				mend(c)
				time.Sleep(3 * time.Second)
				if again := c.hookJob("a"); again == first {
					t.Error("it is not tried again")
				}
			})
		})
	}
}

// A webhook behind a Service is called again when other Pods are behind that, also when they came while the
// call failed; not when those of another Service are others.
func TestAWebhookIsCalledAgainWhenItsPodsAreOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		slice := func(name string) store.Key { return key("discovery.k8s.io", "endpointslices", name) }
		tell := func(name string) { c.d.Reported("a", []store.Key{slice(name)}) }
		c.webhook.set(func(call v1alpha1.HookCall) (int, error) {
			if call.Attempt == 5 {
				tell("tell-x7k2f")
			}
			return 500, nil
		})
		service := map[string]any{"webhook": map[string]any{"timeoutSeconds": int64(10),
			"service": map[string]any{"namespace": "app", "name": "tell", "port": int64(443)}}}
		move := map[string]any{"move": map[string]any{"beforeLeaving": []any{webHook(service)}}}
		c.placement("p", 1, []any{"a"}, move)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("p", 2, []any{"b"}, move)
		c.eventually("on b", func() bool { return c.has("b", web) })
		c.report("b", web, nil)
		c.eventually("failed twice", func() bool { time.Sleep(time.Second); return len(c.webhook.all()) == 2 })
		time.Sleep(3 * time.Second)
		tell("other-x7k2f")
		time.Sleep(3 * time.Second)
		if n := len(c.webhook.all()); n != 2 {
			t.Errorf("called %d times after Pods of another Service have changed", n)
		}
		tell("tell-x7k2f")
		time.Sleep(3 * time.Second)
		if n := len(c.webhook.all()); n != 3 {
			t.Errorf("called %d times after its Pods have changed", n)
		}
		tell("tell-x7k2f")
		time.Sleep(3 * time.Second)
		tell("tell-x7k2f")
		time.Sleep(5 * time.Second)
		if n := len(c.webhook.all()); n != 6 {
			t.Errorf("called %d times after its Pods have changed while a call failed", n)
		}
	})
}
