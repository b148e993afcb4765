package delivery

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// sharesOf is how the replicas of an object are divided in what a target gets: empty where they are
// not, or where the target does not have it.
func (c *center) sharesOf(target string, k store.Key) string {
	c.t.Helper()
	if !c.has(target, k) {
		return ""
	}
	body, _, err := c.d.Feed(target).Body(c.t.Context(), k)
	var o map[string]any
	if err != nil || json.Unmarshal(body, &o) != nil {
		return ""
	}
	return fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationShares)
}

func (c *center) replicas(name string, replicas int64) store.Key {
	k := key("apps", "deployments", name)
	m := map[string]any{"name": name, "namespace": "app", "labels": map[string]any{"app": "web"}, "generation": replicas}
	c.put(k, obj("apps/v1", "Deployment", m, "spec", map[string]any{"replicas": replicas, "template": map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{
			"resources": map[string]any{"requests": map[string]any{"cpu": "100m"}}}}}}}))
	return k
}

func (c *center) divided(generation int64, division map[string]any, names ...any) store.Key {
	targets := map[string]any{"names": names, "replicas": "Divided"}
	if division != nil {
		targets["division"] = division
	}
	return c.placement("p", generation, nil, map[string]any{"targets": targets})
}

func (c *center) shared(web store.Key, want string, targets ...string) {
	c.t.Helper()
	c.eventually(want, func() bool {
		for _, name := range targets {
			if c.sharesOf(name, web) != want {
				return false
			}
		}
		return true
	})
}

// arrives has a target report an object, if it has it: available with its share, or with all.
func (c *center) arrives(target string, k store.Key) {
	if c.has(target, k) {
		shared := c.sharesOf(target, k) != ""
		c.mayReport(target, k, func(p *placement.Progress) {
			if p.Available, p.Varied = 9, shared; shared {
				p.Available = 1
			}
		})
	}
}

// TestAnAutoscalerIsDivided as what it scales is: what it may have in the space, it may have at all sites together.
func TestAnAutoscalerIsDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.divided(1, nil, "a", "b")
		c.namespace("app", nil)
		web := c.replicas("web", 4)
		scaler := func(most int64) store.Key {
			k := key("autoscaling", "horizontalpodautoscalers", "web")
			m := map[string]any{"name": "web", "namespace": "app", "labels": map[string]any{"app": "web"}, "generation": most,
				"annotations": map[string]any{v1alpha1.AnnotationScales: "a user's"}}
			of := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
			c.put(k, obj("autoscaling/v2", "HorizontalPodAutoscaler", m, "spec", map[string]any{"minReplicas": int64(2),
				"maxReplicas": most, "scaleTargetRef": of}))
			return k
		}
		hpa := scaler(9)
		scales := func(target string) string {
			if !c.has(target, hpa) {
				return ""
			}
			body, _, err := c.d.Feed(target).Body(c.t.Context(), hpa)
			var o map[string]any
			if err != nil || json.Unmarshal(body, &o) != nil {
				return ""
			}
			return fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationScales) +
				fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationShares)
		}
		for _, want := range []string{`{"a":[1,5],"b":[1,4]}`, `{"a":[1,2],"b":[1,1]}`} {
			c.eventually(want, func() bool { return scales("a") == want && scales("b") == want })
			c.reviews(hpa, want)
			hpa = scaler(3)
		}
		c.arrives("a", web)
		c.arrives("b", web)
		c.placement("p", 2, nil, map[string]any{"targets": map[string]any{"names": []any{"a", "b"}}})
		c.eventually("each has all of it", func() bool { return c.has("a", hpa) && scales("a") == "" && scales("b") == "" })
	})
}

// TestAnAutoscaledWorkloadIsStarted at each target: an autoscaler leaves one without replicas alone, so a target whose
// share were none would stay without for ever.
func TestAnAutoscaledWorkloadIsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.divided(1, nil, "a", "b")
		c.namespace("app", nil)
		web := c.replicas("web", 1)
		c.shared(web, `{"a":1}`, "a", "b")
		k := key("autoscaling", "horizontalpodautoscalers", "web")
		of := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
		c.put(k, obj("autoscaling/v2", "HorizontalPodAutoscaler",
			map[string]any{"name": "web", "namespace": "app", "labels": map[string]any{"app": "web"}, "generation": int64(1)},
			"spec", map[string]any{"minReplicas": int64(3), "maxReplicas": int64(9), "scaleTargetRef": of}))
		c.shared(web, `{"a":1,"b":1}`, "a", "b")
		c.replicas("web", 0)
		c.shared(web, `{}`, "a", "b")
		c.replicas("web", 3)
		c.shared(web, `{"a":2,"b":1}`, "a", "b")
		c.replicas("web", 1)
		c.shared(web, `{"a":1,"b":1}`, "a", "b")
		before, _ := c.d.Feed("b").Get(web)
		c.restart()
		if after, _ := c.d.Feed("b").Get(web); after.Hash != before.Hash || c.sharesOf("b", web) != `{"a":1,"b":1}` {
			t.Errorf("after a restart it is sent as %s", c.sharesOf("b", web))
		}
		c.put(k, nil)
		c.shared(web, `{"a":1}`, "a", "b")
	})
}

// TestADisruptionBudgetIsDivided as the Pods are that it counts. With all of minAvailable at each target, which has
// some of the Pods, no node of any could ever be drained.
func TestADisruptionBudgetIsDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.divided(1, nil, "a", "b")
		c.namespace("app", nil)
		web := c.replicas("web", 4)
		pdb := key("policy", "poddisruptionbudgets", "web")
		budget := func(generation int64, field string, n any) {
			m := map[string]any{"name": "web", "namespace": "app", "labels": map[string]any{"app": "web"}, "generation": generation,
				"annotations": map[string]any{v1alpha1.AnnotationBudgets: "a user's"}}
			c.put(pdb, obj("policy/v1", "PodDisruptionBudget", m, "spec", map[string]any{field: n,
				"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}))
		}
		budgets := func(target string) string {
			if !c.has(target, pdb) {
				return "it has none"
			}
			body, _, err := c.d.Feed(target).Body(c.t.Context(), pdb)
			var o map[string]any
			if err != nil || json.Unmarshal(body, &o) != nil {
				return "unread"
			}
			return fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationBudgets) +
				fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationShares)
		}
		for i, one := range []struct {
			field string
			n     any
			want  string
		}{
			{"minAvailable", int64(3), `{"a":{"minAvailable":2},"b":{"minAvailable":1}}`},
			{"minAvailable", int64(1), `{"a":{"minAvailable":1},"b":{"minAvailable":0}}`},
			{"maxUnavailable", int64(3), `{"a":{"maxUnavailable":2},"b":{"maxUnavailable":1}}`},
			{"maxUnavailable", int64(1), `{"a":{"maxUnavailable":1},"b":{"maxUnavailable":1}}`},
			{"maxUnavailable", int64(0), `{"a":{"maxUnavailable":0},"b":{"maxUnavailable":0}}`},
			{"minAvailable", "50%", ""},
		} {
			budget(int64(i+1), one.field, one.n)
			c.eventually(fmt.Sprintf("%s: %v is %s", one.field, one.n, one.want), func() bool {
				return budgets("a") == one.want && budgets("b") == one.want
			})
			c.reviews(pdb, one.want)
		}
		if at, ok := c.d.Located(pdb); !ok || !at.Divided {
			t.Errorf("statuses of %s are added up: %t (%t)", pdb, at.Divided, ok)
		}
		budget(9, "minAvailable", int64(3))
		c.arrives("a", web)
		c.arrives("b", web)
		c.placement("p", 2, nil, map[string]any{"targets": map[string]any{"names": []any{"a", "b"}}})
		c.eventually("each has all of it", func() bool { return budgets("a") == "" && budgets("b") == "" })
	})
}

// Replicas are shared out among the targets of a Placement; the shares follow the replicas, the
// targets and their weights, and a restart sends nothing.
func TestReplicasAreDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.divided(1, nil, "a", "b")
		c.namespace("app", nil)
		web := c.replicas("web", 5)
		c.shared(web, `{"a":3,"b":2}`, "a", "b")
		if at, ok := c.d.Located(web); !ok || !at.Divided {
			t.Error("status is merged as of copies")
		}
		if c.cpu("a") != 300 || c.cpu("b") != 200 {
			t.Errorf("a counts %d, b %d thousandths", c.cpu("a"), c.cpu("b"))
		}
		before, _ := c.d.Feed("a").Get(web)
		c.restart()
		if after, _ := c.d.Feed("a").Get(web); after.Hash != before.Hash {
			t.Error("a restart sends it again")
		}
		if c.cpu("a") != 300 || c.cpu("b") != 200 {
			t.Errorf("after a restart a counts %d, b %d thousandths", c.cpu("a"), c.cpu("b"))
		}
		c.replicas("web", 6)
		c.shared(web, `{"a":3,"b":3}`, "a", "b")
		c.divided(2, map[string]any{"weights": []any{map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"size": "large"}}, "weight": 2}}}, "a", "b")
		c.target("b", map[string]any{"size": "large"})
		c.shared(web, `{"a":2,"b":4}`, "a", "b")
		c.target("b", map[string]any{"size": "small"})
		c.shared(web, `{"a":3,"b":3}`, "a", "b")
		c.placement("p", 3, []any{"a", "b"}, nil)
		c.shared(web, "", "a", "b")
		if at, _ := c.d.Located(web); at.Divided {
			t.Error("status is merged as of shares")
		}
	})
}

// No target gets the object before it says which share is whose.
func TestNobodyHasAllReplicasFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.divided(1, nil, "a")
		c.namespace("app", nil)
		web := c.replicas("web", 4)
		c.shared(web, `{"a":4}`, "a")
		c.divided(2, nil, "a", "b")
		c.eventually("on b", func() bool {
			if c.has("b", web) && c.sharesOf("b", web) == "" {
				t.Fatal("b has all replicas")
			}
			return c.sharesOf("b", web) == `{"a":2,"b":2}`
		})
		other := c.placement("q", 1, []any{"a"}, map[string]any{"priority": 1})
		c.shared(web, "", "a")
		c.eventually("on a alone", func() bool {
			c.arrives("a", web)
			return !c.has("b", web)
		})
		c.put(other, nil)
		c.eventually("on b again", func() bool {
			if c.has("b", web) && c.sharesOf("b", web) == "" {
				t.Fatal("b has all replicas")
			}
			return c.sharesOf("b", web) == `{"a":2,"b":2}`
		})
	})
}

// In a move what is left keeps its replicas until what is joined has its own.
func TestAMoveKeepsTheShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.divided(1, nil, "a", "b")
		c.namespace("app", nil)
		web := c.replicas("web", 5)
		c.shared(web, `{"a":3,"b":2}`, "a", "b")
		c.divided(2, nil, "b", "c")
		c.shared(web, `{"a":3,"b":3,"c":2}`, "a", "b", "c")
		c.eventually("arrived", func() bool {
			c.arrives("b", web)
			c.arrives("c", web)
			return c.sharesOf("b", web) == `{"b":3,"c":2}` && c.sharesOf("c", web) == `{"b":3,"c":2}`
		})
		c.eventually("a is left", func() bool { return !c.has("a", web) })
	})
}

// What comes from elsewhere has all its replicas until it has arrived: where it is now nobody has a
// share.
func TestWhatComesFromElsewhereIsDividedWhenItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.replicas("web", 4)
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.divided(1, nil, "b", "c")
		c.eventually("on all three", func() bool { return c.has("a", web) && c.has("b", web) && c.has("c", web) })
		if got := c.sharesOf("a", web); got != "" {
			t.Errorf("before it has arrived its shares are %s", got)
		}
		c.eventually("arrived, and divided", func() bool {
			c.arrives("b", web)
			c.arrives("c", web)
			return c.sharesOf("b", web) == `{"b":2,"c":2}` && c.sharesOf("c", web) == `{"b":2,"c":2}`
		})
		c.eventually("a is left", func() bool { return !c.has("a", web) })
	})
}
