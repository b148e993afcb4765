package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// TestAPlacementThatSelectsNothingSaysSo, for as long as it is so.
func TestAPlacementThatSelectsNothingSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		p := c.placement("p", 1, []any{"a"}, nil)
		says := func() string {
			status, reason, message := c.placementCondition(p, v1alpha1.ConditionScheduled)
			return status + " " + reason + " " + message
		}
		c.eventually("it says that it selects nothing", func() bool {
			return strings.HasPrefix(says(), "True NothingSelected spec.objects selects no object of the space yet")
		})
		explained := func() string {
			s, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Placement: "p"})
			if err != nil {
				t.Fatal(err)
			}
			return s.Reason + ": " + s.Message
		}
		if got := explained(); !strings.HasPrefix(got, "NothingSelected: spec.objects selects no object") {
			t.Errorf("skerry explain placement says %q", got)
		}
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("it says no more", func() bool { return c.has("a", web) && strings.HasPrefix(says(), "True Decided") })
		if got := explained(); strings.Contains(got, "NothingSelected") {
			t.Errorf("skerry explain placement says %q", got)
		}
		c.put(web, nil)
		c.eventually("it says so again", func() bool { return strings.HasPrefix(says(), "True NothingSelected") })
	})
}

// TestTwoDrainsAreNoRefuge: of two sites that are drained neither takes what leaves the other. What is there stays,
// says so on both, and leaves when there is a third.
func TestTwoDrainsAreNoRefuge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.deployment("web", nil, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.placement("other", 1, []any{"b"}, nil)
		other := c.deployment("other", map[string]any{"app": "web"}, "")
		c.eventually("on b", func() bool { return c.has("b", other) })
		c.report("b", other, nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
		c.where("other", 2, map[string]any{"selectors": []any{map[string]any{}}, "count": int64(1)})
		c.spec("a", drainSpec, nil)
		c.spec("b", drainSpec, nil)
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		for target, k := range map[string]string{"a": "web", "b": "other"} {
			if left, leaves := c.d.Remaining(target); !leaves || left.Units != 1 {
				t.Errorf("%s: left on %s: %+v", k, target, left)
			}
			moves := c.d.MovesOf(target)
			if len(moves) != 1 || moves[0].Phase != placement.CannotLeave || moves[0].Reason != placement.StayNoOther {
				t.Errorf("%s: moves of %s: %+v", k, target, moves)
			}
		}
		if !c.has("a", web) || c.has("b", web) || !c.has("b", other) || c.has("a", other) {
			t.Error("something has moved")
		}
		c.target("c", nil)
		c.eventually("both are on c", func() bool {
			c.reportIfHas("c", web)
			c.reportIfHas("c", other)
			return c.has("c", web) && c.has("c", other) && !c.has("a", web) && !c.has("b", other)
		})
	})
}
