package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// What must not run twice does not move while its Placement lets what leaves run on: there would be two. It moves
// when that is said otherwise, and is let go where nothing comes in its place.
func TestWhatWouldRunOnDoesNotMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		p := c.placement("p", 1, []any{"a"}, orphan)
		db := c.statefulSet("db", nil)
		c.eventually("on a", func() bool { return c.has("a", db) })
		c.report("a", db, nil)
		c.placement("p", 2, []any{"b"}, orphan)
		c.eventually("it says why it stays", func() bool {
			status, reason, message := c.placementCondition(p, v1alpha1.ConditionMoving)
			return status == "False" && reason == string(placement.WouldRunOn) && strings.Contains(message,
				"statefulsets/db would run on at a beside the one on another target: sync.whenPlacementDeleted is Orphan")
		})
		time.Sleep(time.Hour)
		if !c.has("a", db) || c.has("b", db) {
			t.Fatal("it has moved")
		}
		c.restart()
		time.Sleep(time.Hour)
		if !c.has("a", db) || c.has("b", db) {
			t.Fatal("it has moved after a restart")
		}
		c.placement("p", 3, []any{"b"}, nil)
		c.eventually("it moves", func() bool {
			if !c.has("a", db) {
				c.gone("a", db)
			}
			c.reportIfHas("b", db)
			return c.has("b", db) && !c.has("a", db)
		})
		c.wantRemoval("a", db, store.RemoveDelete)
		c.placement("p", 4, []any{"b"}, orphan)
		c.label(db, map[string]any{v1alpha1.LabelTarget: v1alpha1.TargetNone})
		c.eventually("it is nowhere", func() bool { return !c.has("b", db) })
	})
}

// Who lets go of it may be a Placement that is deleted while another word has it elsewhere: it stays, and says so on
// itself.
func TestWhatADeletedPlacementLetsRunOnDoesNotBeginElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "b"})
		p := c.placement("p", 1, []any{"a"}, orphan)
		db := c.statefulSet("db", nil)
		c.eventually("on a", func() bool { return c.has("a", db) })
		c.report("a", db, nil)
		c.put(p, nil)
		c.eventually("it says why it stays", func() bool {
			return strings.HasPrefix(c.moveOf("a"), string(placement.WouldRunOn)+": statefulsets/db would run on at a")
		})
		time.Sleep(time.Hour)
		c.restart()
		time.Sleep(time.Hour)
		if !c.has("a", db) || c.has("b", db) {
			t.Fatalf("on a %v, on b %v", c.has("a", db), c.has("b", db))
		}
	})
}
