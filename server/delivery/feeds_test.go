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
		c.d.bodies = bodies{items: map[store.Key]*body{}, limit: bodyBytes} // as after a restart
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
		c.d.bodies = bodies{items: map[store.Key]*body{}, limit: bodyBytes}
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

// The rendered body of an object that is deleted is dropped with it: names that come and go would
// fill the room of all others. That of one which was made anew under the name stays.
func TestBodyGoesWithItsObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		cm := c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", cm) && c.annotation(cm) == "a" })
		size := c.d.bodies.size
		c.put(cm, nil)
		c.eventually("gone from a", func() bool { return !c.has("a", cm) })
		if _, ok := c.d.bodies.items[cm]; ok || c.d.bodies.size >= size ||
			c.d.bodies.order.Len() != len(c.d.bodies.items) {
			t.Errorf("the body stays: %d bytes of %d bodies, before %d", c.d.bodies.size, len(c.d.bodies.items), size)
		}
		cm = c.configMap("one")
		c.eventually("on a again", func() bool { return c.has("a", cm) && c.annotation(cm) == "a" })
		c.put(
			cm,
			obj(
				"v1",
				"ConfigMap",
				map[string]any{"name": "one", "namespace": "app", "uid": "another"},
				"data",
				map[string]any{"k": "v"},
			),
		)
		c.eventually("the new one is on a", func() bool { return c.has("a", cm) && c.annotation(cm) == "a" })
		if c.d.bodies.get(cm, c.d.find(cm).hash) == nil {
			t.Error("the body of the new object was dropped with the old one")
		}
	})
}
