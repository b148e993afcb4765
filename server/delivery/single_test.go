package delivery

import (
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

func (c *center) statefulSet(name string, annotations map[string]any) store.Key {
	k := key("apps", "statefulsets", name)
	m := meta(name)
	m["namespace"], m["labels"], m["annotations"] = "app", map[string]any{"app": "web"}, annotations
	m["generation"] = 1
	c.put(
		k,
		obj(
			"apps/v1",
			"StatefulSet",
			m,
			"spec",
			map[string]any{"replicas": 3, "template": map[string]any{
				"spec": map[string]any{}}},
		),
	)
	return k
}

func (c *center) saidScheduled(k store.Key) placement.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said[k.String()+" "+v1alpha1.ConditionObjectScheduled]
}

// A StatefulSet is on one of several targets, and says why, until somebody says that it is to be
// duplicated.
func TestAStatefulSetIsNotDoubledInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		c.placement("p", 1, []any{"a", "b"}, nil)
		db, web := c.statefulSet("db", nil), c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("the Deployment on both, the StatefulSet on one", func() bool {
			return c.has("a", web) && c.has("b", web) && c.has("a", db) && !c.has("b", db)
		})
		c.eventually("said, with the fix", func() bool {
			s := c.saidScheduled(db)
			return !s.Status && s.Reason == catalog.OneTarget &&
				strings.Contains(s.Message, "spec.targets.replicas: Duplicated") &&
				strings.Contains(s.Message, "copies on b")
		})
		c.restart()
		if !c.has("a", db) || c.has("b", db) {
			t.Error("a restart doubles it")
		}
		c.statefulSet("db", map[string]any{v1alpha1.AnnotationReplicas: "Duplicated"})
		c.eventually(
			"on both by its own word",
			func() bool { return c.has("b", db) && c.saidScheduled(db).Status },
		)
		c.statefulSet("db", map[string]any{v1alpha1.AnnotationReplicas: "yes"})
		c.eventually("on one again", func() bool { return c.has("a", db) && !c.has("b", db) })
		duplicated := map[string]any{"names": []any{"a", "b"}, "replicas": "Duplicated"}
		c.placement("p", 2, nil, map[string]any{"targets": duplicated})
		c.eventually(
			"on both by the Placement's",
			func() bool { return c.has("b", db) && c.saidScheduled(db).Status },
		)
	})
}

// Who counts targets asks for a StatefulSet where it is, so that its Placement can be ready.
func TestAStatefulSetIsAskedForWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		p := c.placement("p", 1, []any{"a", "b"}, nil)
		db, web := c.statefulSet("db", nil), c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("the Deployment on both, the StatefulSet on one", func() bool {
			return c.has("a", web) && c.has("b", web) && c.has("a", db) && !c.has("b", db)
		})
		content, _ := c.d.Content(p)
		for _, o := range content.Objects {
			_, a := o.Versions.At("a", o.Demand)
			_, b := o.Versions.At("b", o.Demand)
			if !a || b != (o.Key == web) {
				t.Errorf("%s is asked for at a: %v, at b: %v", o.Key, a, b)
			}
		}
		s, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{APIGroup: "apps",
			Resource: "statefulsets", Namespace: "app", Name: "db"}})
		if err != nil || len(s.Decision) != 1 || s.Decision[0] != "a" {
			t.Errorf("%+v, %v", s, err)
		}
		if s.Reason != catalog.OneTarget || !strings.Contains(s.Message, "spec.targets.replicas: Duplicated") {
			t.Errorf("explained by %s: %s", s.Reason, s.Message)
		}
	})
}

// A set of targets that changes has a StatefulSet go from the first to the first, and be nowhere else.
func TestAStatefulSetMovesFromFirstToFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.target("d", nil)
		c.namespace("app", nil)
		c.placement("p", 1, []any{"a", "b"}, nil)
		db, web := c.statefulSet("db", nil), c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("placed", func() bool { return c.has("a", db) && c.has("b", web) })
		synctest.Wait() // a has confirmed: reports from before that do not count
		c.report("a", db, nil)
		c.placement("p", 2, []any{"c", "d"}, nil)
		c.eventually(
			"the move began",
			func() bool { return c.has("c", web) && c.has("d", web) },
		)
		alone := func(where string) {
			t.Helper()
			synctest.Wait()
			for _, target := range []string{"a", "b", "c", "d"} {
				if c.has(target, db) != (target == where) {
					t.Errorf("it is to be on %q alone, on %s: %t", where, target, c.has(target, db))
				}
			}
		}
		alone("a")
		for _, target := range []string{"c", "d"} {
			c.report(target, web, nil)
		}
		c.eventually("a and b are left", func() bool { return !c.has("a", web) && !c.has("b", web) })
		alone("")
		c.gone("b", web)
		c.gone("a", web)
		alone("")
		c.gone("a", db)
		c.eventually("it is on c", func() bool { return c.has("c", db) })
		alone("c")
	})
}
