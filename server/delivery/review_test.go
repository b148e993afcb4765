package delivery

import (
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

func TestAReviewIsTheDecisionItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.site("c", map[string]any{"region": "east"}, []any{map[string]any{"key": "x", "effect": "NoSchedule"}}, nil)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		other := c.deployment("other", nil, "")
		c.eventually("other is on a target", func() bool { return c.has("a", other) || c.has("b", other) })
		c.where("p", 1, map[string]any{"selectors": []any{map[string]any{}}, "count": int64(1)})
		at := ""
		c.eventually("web is where the Placement has decided", func() bool {
			o, _ := c.Get(t.Context(), placementOf("p"), "")
			status, _ := o["status"].(map[string]any)
			decision, _ := status["decision"].([]any)
			if len(decision) != 1 || !c.has(decision[0].(string), web) {
				return false
			}
			at = decision[0].(string)
			c.report(at, web, nil)
			return c.has("a", web) != c.has("b", web)
		})
		c.report(at, web, func(p *placement.Progress) { p.Available = 1 })
		ask := func(q v1alpha1.PlacementReviewSpec) *v1alpha1.PlacementReviewStatus {
			t.Helper()
			s, err := c.d.Review(t.Context(), "shop", q)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		ref := &v1alpha1.ReviewedObject{APIGroup: "apps", Resource: "deployments", Namespace: "app", Name: "web"}
		s := ask(v1alpha1.PlacementReviewSpec{Object: ref})
		if s.DecidedBy.Kind != "Placement" || s.DecidedBy.Name != "p" || len(s.Decision) != 1 || s.Decision[0] != at ||
			len(s.Wanted) != 1 || s.Wanted[0] != at || len(s.Targets) != 3 {
			t.Errorf("%+v", s)
		}
		if first := s.Targets[0]; first.Name != at || !first.InUse || !first.Chosen || first.WaitsFor != "deployments/web not available yet (1 of 3)" {
			t.Errorf("in use: %+v", first)
		}
		for _, v := range s.Targets {
			if v.Name == "c" && (v.Filter != "NoScheduleTaint" || v.Chosen || !strings.Contains(v.Message, "x:NoSchedule")) {
				t.Errorf("tainted: %+v", v)
			}
		}
		without := ask(v1alpha1.PlacementReviewSpec{Object: ref, Without: []string{at}})
		if len(without.Wanted) != 1 || without.Wanted[0] == at || without.Wanted[0] == "c" || without.Decision[0] != at {
			t.Errorf("without: %+v", without)
		}
		if s := ask(v1alpha1.PlacementReviewSpec{Placement: "p"}); len(s.Wanted) != 1 {
			t.Errorf("of the Placement: %+v", s)
		}
		ref.Name = "other"
		if s := ask(v1alpha1.PlacementReviewSpec{Object: ref}); s.DecidedBy.Kind != "DefaultTargets" {
			t.Errorf("of what follows its namespace: %+v", s.DecidedBy)
		}
		for _, name := range []string{"secrets", "roles"} {
			ref := &v1alpha1.ReviewedObject{Resource: name, Namespace: "app", Name: "none"}
			if name == "roles" {
				ref.APIGroup = "rbac.authorization.k8s.io"
			}
			if _, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: ref}); err == nil {
				t.Errorf("%s that does not exist has an answer", name)
			}
		}
		if _, err := c.d.Review(t.Context(), "other", v1alpha1.PlacementReviewSpec{Placement: "p"}); err == nil {
			t.Error("a Placement of another space is found")
		}
	})
}

// A space is told of targets that it may use alone.
func TestAReviewTellsNothingOfOtherTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{
			"locationSelector": map[string]any{"matchLabels": map[string]any{"region": "north"}}}))
		c.namespace("app", nil)
		c.deployment("web", map[string]any{"app": "web"}, "")
		c.where("p", 1, map[string]any{"selectors": []any{map[string]any{}}})
		s, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Placement: "p"})
		if err != nil || len(s.Targets) != 1 || s.Targets[0].Name != "a" || strings.Contains(s.Message, "b") {
			t.Errorf("%+v %v", s, err)
		}
	})
}

// A target that is left out has to be one that the space may use: else a slip of the pen looks like an
// answer. One that it may not use is not told from one that there is not.
func TestAReviewLeavesOutWhatThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{
			"locationSelector": map[string]any{"matchLabels": map[string]any{"region": "north"}}}))
		c.placement("p", 1, []any{"a"}, nil)
		for name, want := range map[string]string{
			"a": "", "b": `spec.without: this space has no target "b"; it has a`, "x": `no target "x"; it has a`,
		} {
			_, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Placement: "p", Without: []string{name}})
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("without %s the error is %v, want %q", name, err, want)
			}
		}
	})
}
