package summary

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// restart has another Summary begin with what is stored, as that of a center that starts anew does.
func (c *center) restart() {
	c.stop()
	c.s = New(c.s.cfg)
	c.mu.Lock()
	c.s.Reset(c.revision, storetest.Listing(func(yield func(store.Write) bool) {
		for k, o := range c.objects {
			if !yield(
				store.Write{
					Key:        k,
					APIVersion: o["apiVersion"].(string),
					Kind:       o["kind"].(string),
					Revision:   revisionOf(o),
					Object:     spaceapitest.Clone(o),
				},
			) {
				return
			}
		}
	}))
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.s.Run(ctx) }()
	c.stop = func() { cancel(); <-done }
}

// A center that starts while sites are silent tells what it has not told at the same pace, and
// writes nothing of what is told already.
func TestOutagesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 300
		c := newCenter(t)
		var last store.Key
		for i := range objects {
			last = key("apps", "deployments", fmt.Sprintf("web-%d", i))
			c.place(last, "apps/v1", "Deployment", "paris")
			c.says("paris", last, &store.Report{OriginUID: "uid-" + last.Name, Status: status(`{"replicas":1}`)})
		}
		time.Sleep(time.Second)
		c.falls("paris", true)
		c.stop()
		time.Sleep(2 * outageAge)
		writes := c.count()
		c.restart()
		c.s.Outage("paris")
		time.Sleep(time.Second)
		if n := c.count() - writes; n == 0 || n > int(time.Second/outagePace)+10 {
			t.Errorf("%d writes in the first second, at most %d", n, time.Second/outagePace)
		}
		time.Sleep(time.Minute)
		if n := c.count() - writes; n != objects || c.reachable(last) == nil {
			t.Errorf("%d writes for %d objects", n, objects)
		}
		c.restart()
		c.s.Outage("paris")
		time.Sleep(time.Minute)
		if n := c.count() - writes; n != objects || c.reachable(last) == nil {
			t.Errorf("another restart: %d writes for %d objects that say it already", n-objects, objects)
		}
		c.falls("paris", false)
		time.Sleep(time.Minute)
		if n := c.count() - writes; n != 2*objects || c.reachable(last) != nil {
			t.Errorf("the site is back: %d writes for %d objects", n-objects, objects)
		}
		c.stop()
	})
}
