package delivery

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// TestABodyThatIsNotServedForAWhileIsNotLeftOut: the kind of a custom resource may not be served
// for some seconds after a start. What the catalog has is sent then, too; what was deleted is not
// waited for.
func TestABodyThatIsNotServedForAWhileIsNotLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		cm := c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", cm) && c.annotation(cm) == "a" })
		c.d.Rest() // as after a restart
		c.mu.Lock()
		hidden := c.objects[cm]
		delete(c.objects, cm)
		c.mu.Unlock()
		go func() {
			time.Sleep(time.Second)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.objects[cm] = hidden
		}()
		if body, _, err := c.d.Feed("a").Body(t.Context(), cm); err != nil || len(body) == 0 {
			t.Fatalf("left out: %v", err)
		}
		c.d.Rest()
		go func() {
			time.Sleep(time.Second)
			c.put(cm, nil)
		}()
		c.mu.Lock()
		delete(c.objects, cm)
		c.mu.Unlock()
		if _, _, err := c.d.Feed("a").Body(context.Background(), cm); !errors.Is(err, store.ErrGone) {
			t.Errorf("deleted meanwhile: %v", err)
		}
	})
}
