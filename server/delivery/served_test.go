package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// service puts a Service into the Namespace app.
func (c *center) service(name string) store.Key {
	k := key("", "services", name)
	m := meta(name)
	m["namespace"], m["labels"] = "app", map[string]any{"app": name}
	c.put(k, obj("v1", "Service", m, "spec", map[string]any{"selector": map[string]any{"app": name}}))
	return k
}

// What a Service is with is served by the old target until the new one routes to it, unless its Placement
// says otherwise. What nobody asks moves at once.
func TestWhatIsServedStaysForAWhile(t *testing.T) {
	for _, tc := range []struct {
		name    string
		service bool
		move    map[string]any // of a Placement; nil for the label of the Namespace
		stays   time.Duration
	}{
		{"no Service", false, nil, 0},
		{"a label", true, nil, 5 * time.Second},
		{"a Placement", true, map[string]any{}, 5 * time.Second},
		{"a Placement that will not wait", true, map[string]any{"minReadySeconds": int64(0)}, 0},
		{"a Placement that waits longer", true, map[string]any{"minReadySeconds": int64(20)}, 20 * time.Second},
		{"a Placement that has little time", true, map[string]any{"readyTimeout": "4s"}, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				place := func(generation int64, target string) {
					if tc.move != nil {
						c.placement("p", generation, []any{target}, map[string]any{"move": tc.move})
						return
					}
					c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: target})
				}
				if tc.move != nil {
					place(1, "a")
					c.namespace("app", nil)
				} else {
					c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
				}
				all := []store.Key{c.deployment("web", map[string]any{"app": "web"}, "")}
				if tc.service {
					all = append(all, c.service("web"))
				}
				arrive := func(target string) {
					for _, k := range all {
						c.eventually("on "+target, func() bool { return c.has(target, k) })
						c.report(target, k, nil)
					}
				}
				arrive("a")
				place(2, "b")
				arrive("b")
				if tc.stays > 0 {
					time.Sleep(tc.stays - time.Second/2)
					synctest.Wait()
					if !c.has("a", all[0]) {
						t.Fatalf("a is left before %s", tc.stays)
					}
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if c.has("a", all[0]) {
					t.Fatalf("a is not left after %s", tc.stays)
				}
			})
		})
	}
}
