package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// TestWhatIsTooLargeToBeSentSaysSo lets an object grow while its namespace moves: the object says
// that it is not sent, the move names it, goes back in time, and succeeds when the object is small
// again.
func TestWhatIsTooLargeToBeSentSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		cm := c.configMap("big")
		c.eventually("on a", func() bool { return c.has("a", cm) })
		c.report("a", cm, nil)
		size := func(n int) {
			o, err := c.Get(t.Context(), cm, "v1")
			if err != nil {
				t.Fatal(err)
			}
			o["data"] = map[string]any{"k": strings.Repeat("x", n)}
			c.put(cm, o)
		}
		refused := func() store.ReportError {
			c.reports.Lock()
			defer c.reports.Unlock()
			return c.refused[cm]
		}
		size(store.MaxBodyBytes)
		if why := refused(); why.Reason != catalog.TooLarge || !strings.Contains(why.Message, "the limit is 1572864") {
			t.Errorf("the object says %+v", why)
		}
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, _, message := c.namespaceMoving(); !strings.Contains(
			message,
			"configmaps/big TooLarge: the center does not send it",
		) {
			t.Errorf("the Namespace says %q", message)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if _, reason, message := c.namespaceMoving(); reason != "ReadyTimeout" ||
			!strings.Contains(message, "configmaps/big TooLarge") ||
			c.annotation(nsKey("app")) != "a" {
			t.Errorf("the Namespace is on %q and says %q %q", c.annotation(nsKey("app")), reason, message)
		}
		size(10)
		if why := refused(); why != (store.ReportError{}) {
			t.Errorf("the object still says %+v", why)
		}
		c.eventually("on both", func() bool { return c.has("b", cm) })
		c.report("b", cm, nil)
		c.eventually("on b", func() bool { return c.annotation(nsKey("app")) == "b" })
	})
}
