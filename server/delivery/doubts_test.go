package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// asked is what a target is asked to confirm.
type asked struct {
	target   string
	revision int64
}

// wentAndComesBack returns a center whose Namespace has gone from a to b and is wished at a again,
// which still reports what it had.
func wentAndComesBack(t *testing.T) (c *center, k store.Key, confirm chan asked) {
	t.Helper()
	c, confirm = shop(t), make(chan asked, 100)
	c.confirm = func(target string, revision int64) { confirm <- asked{target, revision} }
	c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
	k = c.configMap("c")
	c.eventually("it is on a", func() bool { return c.has("a", k) })
	c.report("a", k, nil)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
	c.eventually("it is on b", func() bool { return c.has("b", k) })
	c.report("b", k, nil)
	c.eventually("it is on b alone", func() bool { return !c.has("a", k) })
	if len(confirm) > 0 {
		t.Fatalf("%+v is asked for what came for the first time", <-confirm)
	}
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
	c.eventually("it is to come back to a", func() bool { return c.has("a", k) })
	return c, k, confirm
}

// stays fails when an object leaves a target although nothing more is said.
func (c *center) stays(target string, k store.Key) {
	c.t.Helper()
	time.Sleep(5 * time.Second)
	synctest.Wait()
	if !c.has(target, k) {
		c.t.Fatalf("it has left %s before it is back on the other", target)
	}
}

// What a target reports of what it is to have again counts when it has confirmed that it knows,
// also after a restart of the center.
func TestWhatComesBackIsConfirmed(t *testing.T) {
	for name, restart := range map[string]bool{"runs on": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k, confirm := wentAndComesBack(t)
				c.stays("b", k)
				q := <-confirm
				if head := c.d.Feed("a").Head().Revision; q.target != "a" || q.revision > head {
					t.Errorf("asked %+v, the feed is at %d", q, head)
				}
				if restart {
					c.restart()
					c.stays("b", k)
					for len(confirm) > 0 {
						q = <-confirm
					}
				}
				c.d.Confirmed("a", q.revision-1)
				c.stays("b", k)
				c.d.Confirmed("a", q.revision)
				c.eventually("it is on a alone", func() bool { return c.has("a", k) && !c.has("b", k) })
			})
		})
	}
}

// Once a target has said that an object is gone, what it reports next is of what came.
func TestWhatIsGoneMayComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k, _ := wentAndComesBack(t)
		c.stays("b", k)
		c.gone("a", k)
		c.stays("b", k)
		c.report("a", k, nil)
		c.eventually("it is on a alone", func() bool { return c.has("a", k) && !c.has("b", k) })
	})
}
