package delivery

import (
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// What leaves a site goes to one whose policy lets its Pods in, if others are equal otherwise, and the
// review says what these would refuse. What is placed stays when its site's policy gets stricter.
func TestASiteThatTakesThePodsIsPreferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		site := func(name, level string, taints ...any) {
			c.site(name, nil, taints, map[string]any{"policy": map[string]any{"podSecurity": []any{level}}})
		}
		site("a", "privileged")
		site("b", "baseline")
		site("c", "privileged")
		c.namespace("app", nil)
		web := key("apps", "deployments", "web")
		m := meta("web")
		m["namespace"], m["generation"] = "app", 1
		c.put(web, obj("apps/v1", "Deployment", m, "spec", map[string]any{"template": map[string]any{"spec": map[string]any{
			"hostNetwork": true, "containers": []any{map[string]any{"name": "c"}}}}}))
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		site("a", "privileged", map[string]any{"key": "broken", "effect": "NoExecute"})
		c.eventually("goes to c", func() bool { return c.has("b", web) || c.has("c", web) })
		c.report("c", web, nil)
		c.eventually("is on c", func() bool { return c.has("c", web) && !c.has("a", web) && !c.has("b", web) })
		said := func() map[string]string {
			r, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
				APIGroup: "apps", Resource: "deployments", Namespace: "app", Name: "web"}})
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]string{}
			for _, t := range r.Targets {
				all[t.Name] = t.Message
			}
			return all
		}
		if all := said(); all["b"] != "enough others are chosen; its Pod Security level baseline refuses the Pods of "+
			"1 workload" || all["c"] != "" {
			t.Errorf("said of the targets: %q", all)
		}
		site("c", "restricted")
		site("a", "privileged")
		c.eventually("everything was looked at", func() bool {
			return said()["c"] != "" && c.d.catalog.Groups.Len() == 0
		})
		if !c.has("c", web) || c.has("a", web) {
			t.Error("it has moved")
		}
	})
}

// A relay is among the targets whose levels are told, and has none.
func TestLevelsNameRelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.site("a", nil, nil, map[string]any{"policy": map[string]any{"podSecurity": []any{"baseline"}}})
		c.site("eu", nil, nil, map[string]any{"relay": true})
		c.site("silent", nil, nil, nil)
		want := []placement.SecurityLevel{{Target: "a", Level: "baseline"}, {Target: "eu", Relay: true}}
		c.eventually("both are told", func() bool { return slices.Equal(c.d.PodSecurity("shop", nil), want) })
		if got := c.d.PodSecurity("shop", []string{"eu"}); !slices.Equal(got, want[1:]) {
			t.Errorf("of the relay: %v", got)
		}
	})
}
