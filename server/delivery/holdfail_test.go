package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// onA is a shop whose Deployment web is on a by its namespace.
func onA(t *testing.T) (*center, store.Key) {
	c := shop(t)
	c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
	web := c.deployment("web", map[string]any{"app": "web"}, "")
	c.eventually("on a", func() bool { return c.has("a", web) && c.annotation(web) == "a" })
	c.report("a", web, nil)
	return c, web
}

func (c *center) saidMoving(k store.Key) placement.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said[k.String()+" "+v1alpha1.ConditionObjectMoving]
}

func TestAnObjectThatDoesNotArriveInItsNewGroupStaysWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, web := onA(t)
		c.placement("p", 1, []any{"b"}, map[string]any{"move": map[string]any{"readyTimeout": "1m"}})
		c.eventually("on both", func() bool { return c.has("a", web) && c.has("b", web) })
		c.report("a", web, nil) // what is sent names the Placement, so it has changed
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if c.has("b", web) || !c.has("a", web) {
			t.Fatal("not back on a")
		}
		if said := c.saidMoving(web); said.Reason != "ReadyTimeout" || said.Status {
			t.Errorf("it says %+v", said)
		}
		time.Sleep(time.Hour)
		c.report("a", web, nil)
		synctest.Wait()
		if c.has("b", web) {
			t.Fatal("tried again though nothing changed")
		}
		c.deployment("web", map[string]any{"app": "web", "fixed": "yes"}, "")
		c.eventually("tried again", func() bool { return c.has("b", web) && c.has("a", web) })
		c.eventually("on b alone", func() bool {
			c.report("b", web, nil)
			return !c.has("a", web)
		})
	})
}

func TestAPlacementThatBreaksFirstTakesOverWithoutTwoPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, web := onA(t)
		c.placement("p", 1, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		time.Sleep(2 * time.Second)
		c.restart()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c.has("b", web) {
			t.Fatal("a still reports it")
		}
		c.gone("a", web)
		c.eventually("on b", func() bool { return c.has("b", web) && !c.has("a", web) && c.annotation(web) == "b" })
	})
}

func TestAPlacementThatBreaksFirstGivesBackWhatIsNotConfirmedGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, web := onA(t)
		c.placement("p", 1, []any{"b"}, breakFirst)
		c.eventually("off a", func() bool { return !c.has("a", web) })
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if !c.has("a", web) || c.has("b", web) {
			t.Errorf("a %v, b %v: it belongs back on a", c.has("a", web), c.has("b", web))
		}
	})
}
