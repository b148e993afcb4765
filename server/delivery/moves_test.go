package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// A move is listed with what it waits for while it is under way, and when it is given up, at the
// targets that it leads from and to; when the group is where it should be, or is gone, it is not
// listed any more.
func TestMovesAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.deployment("web", nil, "one")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		if m := c.d.Moves(); len(m) != 0 {
			t.Errorf("nothing moves: %+v", m)
		}
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		time.Sleep(time.Minute)
		synctest.Wait()
		m := c.d.Moves()
		if len(m) != 1 || m[0].Key != nsKey("app") || m[0].Phase != "Waiting" ||
			!strings.Contains(m[0].Message, "deployments/web") ||
			m[0].Since.IsZero() {
			t.Errorf("under way: %+v", m)
		}
		if a, b := c.d.MovesOf("a"), c.d.MovesOf("b"); len(a) != 1 || len(b) != 0 {
			t.Errorf("a, which is left: %+v; b, which has all: %+v", a, b)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if m := c.d.MovesOf("b"); len(m) != 1 || m[0].Phase != "GivenUp" {
			t.Errorf("given up: %+v", c.d.Moves())
		}
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		time.Sleep(time.Minute)
		synctest.Wait()
		if m := c.d.Moves(); len(m) != 0 {
			t.Errorf("where it should be: %+v", m)
		}
	})
}
