package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// The label none removes what runs, of a Namespace or of one object, without anything in its place, also over a
// restart. Without a label what is nowhere stays nowhere until somebody says where to.
func TestTheLabelNoneRemovesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web, other := c.deployment("web", nil, ""), c.deployment("other", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", other) })
		c.report("a", web, nil)
		c.report("a", other, nil)
		reviewed := func() v1alpha1.PlacementReviewStatus {
			s, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
				APIGroup: "apps", Resource: "deployments", Namespace: "app", Name: "web"}})
			if err != nil {
				t.Fatal(err)
			}
			return *s
		}

		c.label(web, map[string]any{v1alpha1.LabelTarget: v1alpha1.TargetNone})
		c.eventually("one is nowhere", func() bool { return !c.has("a", web) && c.has("a", other) })
		if s := reviewed(); s.DecidedBy.Kind != "ObjectLabel" || len(s.Decision) > 0 ||
			s.Message != "the label skerry.dev/target is none: the objects are on no target" {
			t.Errorf("reviewed: %+v", s)
		}
		c.label(web, map[string]any{v1alpha1.LabelTarget: nil})
		c.eventually("it is back", func() bool { return c.has("a", web) && c.has("a", other) })
		c.report("a", web, nil)

		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: v1alpha1.TargetNone})
		c.eventually("all is nowhere", func() bool {
			return !c.has("a", web) && !c.has("a", other) && !c.has("a", nsKey("app"))
		})
		c.restart()
		time.Sleep(time.Hour)
		if c.has("a", web) || c.has("b", web) || c.has("a", nsKey("app")) || c.has("b", nsKey("app")) {
			t.Error("a restart has brought it back")
		}
		late := c.deployment("late", nil, "")
		c.label(late, map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("one with a wish of its own", func() bool { return c.has("b", late) && !c.has("b", web) })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("all is on b", func() bool { return c.has("b", web) && c.has("b", other) && !c.has("a", web) })
	})
}
