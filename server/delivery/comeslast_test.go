package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// TestWhatMustNotRunTwiceComesLast moves a Namespace with a Deployment whose user wants no two of its Pods. It is on
// one site at any time, and the rest on one at least. When it is not available in time, all goes back,
// and sooner when it is refused.
func TestWhatMustNotRunTwiceComesLast(t *testing.T) {
	const comes, late, refused = "and is available", "and is not", "and is refused"
	for _, name := range []string{comes, late, refused} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.namespace("app", m{v1alpha1.LabelTarget: "a"})
				web := c.deployment("web", nil, "")
				once := c.workloadOf(key("apps", "deployments", "once"), "apps/v1", "Deployment",
					m{"replicas": 1, "strategy": m{"type": "Recreate"}, "template": m{"spec": m{}}})
				c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", once) })
				synctest.Wait()
				c.report("a", web, nil)
				c.report("a", once, nil)
				c.label(nsKey("app"), m{v1alpha1.LabelTarget: "b"})
				c.eventually("the rest is on both", func() bool { return c.has("b", web) })
				is := func(when string, a, b bool) {
					t.Helper()
					time.Sleep(time.Minute)
					if synctest.Wait(); c.has("a", once) != a || c.has("b", once) != b || !c.has("b", web) {
						t.Fatalf("%s: it is on a: %t, on b: %t, and the rest on b: %t", when, c.has("a", once),
							c.has("b", once), c.has("b", web))
					}
				}
				is("the rest gets ready", true, false)
				c.report("b", web, nil)
				c.eventually("a is left", func() bool { return !c.has("a", web) && !c.has("a", once) })
				is("it may still run on a", false, false)
				if _, _, text := c.namespaceMoving(); text != "placed on b once deployments/once is gone from a" {
					t.Errorf("it says %q", text)
				}
				c.restart()
				is("after a restart", false, false)
				c.gone("a", once)
				is("it is gone from a", false, true)
				if name == comes {
					c.report("b", once, nil)
					c.eventually("it has moved", func() bool { status, _, _ := c.namespaceMoving(); return status != "True" })
					return
				}
				within := placement.ReadyTimeout
				c.report("b", once, func(p *placement.Progress) {
					if p.Ready, p.Available = false, 0; name == refused {
						p.Refused, p.Applied, within = &store.ReportError{Reason: "Forbidden", Message: "denied by a webhook"},
							store.Hash{}, time.Minute
					}
				})
				time.Sleep(within)
				c.eventually("it leaves b", func() bool { return !c.has("b", once) && !c.has("b", web) })
				if c.has("a", once) {
					t.Fatal("it may still run on b, and is on a")
				}
				c.gone("b", once)
				c.gone("b", web)
				c.eventually("it is back", func() bool { return c.has("a", once) && c.has("a", web) })
			})
		})
	}
}
