package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Over a link whose bytes are paid for volumes move where somebody says so, and a move that has begun ends.
func TestVolumesStayBehindAMeteredLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		policy := func(target string, pays bool) map[string]any {
			return map[string]any{"targets": map[string]any{"names": []any{target}},
				"move":    map[string]any{"volumes": "Move", "volumesOverMeteredLinks": pays},
				"objects": []any{map[string]any{"namespaces": []any{"app"}}}}
		}
		metered := func(is bool) {
			spec := map[string]any{}
			if is {
				spec["link"] = map[string]any{"class": string(v1alpha1.LinkMetered)}
			}
			c.away("b", false, spec)
		}
		c.placement("p", 1, nil, policy("a", false))
		app, _ := c.movable()
		metered(true)
		c.placement("p", 2, nil, policy("b", false))
		time.Sleep(time.Hour)
		synctest.Wait()
		if m := c.copies.wanted(); m != nil || !c.has("a", app) {
			t.Fatalf("%+v is copied, or the app stopped", m)
		}
		if said := c.moveOf("a"); !strings.Contains(said, "the link of b is metered") ||
			!strings.Contains(said, "spec.move.volumesOverMeteredLinks: true") {
			t.Errorf("it says %s", said)
		}
		c.placement("p", 3, nil, policy("b", true))
		c.eventually("it may be paid for", func() bool { return c.copies.wanted() != nil })
		c.stops(app)
		c.placement("p", 4, nil, policy("b", false))
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.copies.wanted() == nil {
			t.Error("a last round that nothing runs beside is not ended")
		}
	})
}
