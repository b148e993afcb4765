package apply

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
)

// A write that is still to come is recorded once, however often the object is missed, so that the
// waits do not add up; a new desired state need not wait, and what is not wanted any more is
// forgotten.
func TestContestsDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := conflictBackoff{&tracks{}}, store.Key{Resource: "configmaps", Name: "c"}
		c.wrote(k) // at once
		for range 30 {
			for range 100 {
				c.wrote(k)
			}
			wait := c.early(k)
			if wait > contestLimit {
				t.Fatalf("the next write is to wait for %s", wait)
			}
			time.Sleep(wait)
		}
		if seen := c.seen(k); seen.times != 31 || time.Until(seen.next) < contestLimit/2 ||
			time.Until(seen.next) > contestLimit {
			t.Errorf("after 31 writes, of which all but the first were recorded a hundred times: %+v", seen)
		}
		c.wrote(k)
		if c.early(k) == 0 {
			t.Fatal("it need not wait")
		}
		c.allow(k)
		if wait := c.early(k); wait != 0 {
			t.Errorf("something else is desired, and waits for %s", wait)
		}
		c.forget(k)
		if c.wrote(k); c.early(k) != 0 {
			t.Error("it waits for what was forgotten")
		}
	})
}

// A contest that is over begins anew, whenever those that are over were dropped the last time, and what else is known
// of the object stays.
func TestAContestThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &tracks{}
		c, a, b := conflictBackoff{all}, key("configmaps", "n", "a"), key("configmaps", "n", "b")
		drifts{all}.record(a, 7)
		c.wrote(a)
		time.Sleep(contestWindow + time.Second)
		c.wrote(b)
		if is := c.of(a); is.contest != nil || is.drift.state != openDrift {
			t.Errorf("after a long time: %+v", is)
		}
		time.Sleep(time.Second)
		c.wrote(a)
		time.Sleep(contestWindow - time.Second/2)
		c.wrote(b) // drops what is over
		if c.of(a).contest == nil {
			t.Error("one that is not over was dropped")
		}
		time.Sleep(2 * time.Second)
		if times, _ := c.wrote(a); times != 1 {
			t.Errorf("it is write number %d in a row", times)
		}
	})
}
