package delivery

import (
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// policy stores a Placement of root for every space; projected is the one of the space.
func (c *center) policy(name string, precedence v1alpha1.Precedence) {
	c.t.Helper()
	c.put(
		rootKey("placements", name),
		obj("skerry.dev/v1alpha1", "Placement", meta(name), "spec", map[string]any{
			"spaceSelector": map[string]any{}, "precedence": string(precedence), "objects": []any{map[string]any{}},
			"targets": map[string]any{"names": []any{"a"}}}),
	)
}

func (c *center) projected(name string, precedence v1alpha1.Precedence, targets ...any) store.Key {
	c.t.Helper()
	k := placementOf(v1alpha1.PolicyPrefix + name)
	m := meta(k.Name)
	m["generation"] = 1
	m["annotations"] = map[string]any{
		v1alpha1.AnnotationPolicy: "uid-" + rootKey("placements", name).String() + "/1",
	}
	c.put(
		k,
		obj(
			"skerry.dev/v1alpha1",
			"Placement",
			m,
			"spec",
			map[string]any{"precedence": string(precedence),
				"objects": []any{
					map[string]any{"resources": []any{"deployments"}},
				}, "targets": map[string]any{"names": targets}},
		),
	)
	return k
}

// A policy of root that overrides decides before labels; one that gives a default only where
// neither a label nor a Placement of the space says anything.
func TestLevelsOfPlacements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("placed by the space's default", func() bool { return c.annotation(web) != "" })
		usual := c.projected("usual", v1alpha1.PrecedenceDefault, "b")
		c.eventually("the policy's default comes before defaultTargets", func() bool {
			c.reportIfHas("b", web)
			return c.has("b", web) && !c.has("a", web)
		})
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("the namespace's label comes before it", func() bool {
			c.reportIfHas("a", web)
			return c.has("a", web) && !c.has("b", web)
		})
		must := c.projected("must", v1alpha1.PrecedenceOverride, "b")
		c.eventually("an override comes before the namespace's label", func() bool {
			c.reportIfHas("b", web)
			return c.has("b", web) && !c.has("a", web)
		})
		c.label(web, map[string]any{v1alpha1.LabelTarget: "a"})
		c.restart()
		c.eventually("and before the object's own, also after a restart", func() bool {
			return c.has("b", web) && !c.has("a", web)
		})
		c.put(must, nil)
		c.eventually("without it the object's own label decides", func() bool {
			c.reportIfHas("a", web)
			return c.has("a", web) && !c.has("b", web)
		})
		c.put(usual, nil)
	})
}

// Nothing of a space is placed before a policy of root that overrides has come to it.
func TestASpaceAwaitsAnOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.policy("must", v1alpha1.PrecedenceOverride)
		c.policy("usual", v1alpha1.PrecedenceDefault)
		c.namespace("app", nil)
		web := c.deployment("web", nil, "")
		c.d.catalog.Groups.Add(catalog.Ref{Kind: catalog.OfNamespace, Key: nsKey("app")})
		synctest.Wait()
		if at := c.annotation(nsKey("app")); at != "" {
			t.Fatalf("decided without the policy: on %q", at)
		}
		if a := c.d.Admit("shop", key("apps", "deployments", "new"), &metav1.ObjectMeta{Name: "new", Namespace: "app"}); a != (Admitted{}) {
			t.Error("admission was told a place")
		}
		c.projected("must", v1alpha1.PrecedenceOverride, "b")
		c.eventually("placed by the policy", func() bool { return c.has("b", web) && !c.has("a", web) })
		c.restart()
		c.eventually("still", func() bool { return c.has("b", web) })
		other := c.configMap("cm")
		c.eventually(
			"the rest is decided by the space",
			func() bool { return c.has("a", other) || c.has("b", other) },
		)
		c.projectedOfAnother("must")
		c.configMap("late")
		if !c.awaits() {
			t.Error("a Placement kept for one that was made anew counts")
		}
		c.put(rootKey("placements", "must"), nil)
		c.eventually("nothing is awaited any more", func() bool { return !c.awaits() })
	})
}

func (c *center) awaits() bool {
	c.d.catalog.RLock()
	defer c.d.catalog.RUnlock()
	return c.d.catalog.AwaitsPolicy(c.d.catalog.Spaces["shop"])
}

func (c *center) projectedOfAnother(name string) {
	c.change(placementOf(v1alpha1.PolicyPrefix+name), map[string]any{
		"annotations": map[string]any{v1alpha1.AnnotationPolicy: "another/1"}})
}

func (c *center) reportIfHas(target string, k store.Key) {
	c.mayReport(target, k, nil)
}

// With includeDependencies false, what an object names, and the definitions of the space, stay.
func TestDependenciesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "b"})
		crd := store.Key{
			Space:    "shop",
			Group:    "apiextensions.k8s.io",
			Resource: "customresourcedefinitions",
			Name:     "widgets.example.com",
		}
		c.put(crd, obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", meta(crd.Name)))
		cm := c.configMap("conf")
		web := c.deployment("web", map[string]any{"app": "web"}, "conf")
		c.placement("p", 1, []any{"a"}, nil)
		c.eventually("with what it names", func() bool {
			c.reportIfHas("a", web)
			return c.has("a", web) && c.has("a", cm) && c.has("a", crd)
		})
		c.placement("p", 2, []any{"a"}, map[string]any{"includeDependencies": false})
		c.eventually(
			"alone",
			func() bool { return c.has("a", web) && !c.has("a", cm) && !c.has("a", crd) },
		)
		c.eventually("what others need is where those are", func() bool { return c.has("b", cm) && c.has("b", crd) })
		if !c.has("a", nsKey("app")) {
			t.Error("its Namespace has left")
		}
		c.restart()
		c.eventually(
			"alone after a restart",
			func() bool { return c.has("a", web) && !c.has("a", cm) && !c.has("a", crd) },
		)
		c.placement("p", 3, []any{"a"}, nil)
		c.eventually(
			"with what it names again",
			func() bool { return c.has("a", cm) && c.has("a", crd) },
		)
		c.put(web, nil)
		c.eventually("all gone", func() bool { return !c.has("a", cm) && !c.has("a", crd) })
	})
}
