package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// ingress puts an Ingress that sends to the Service web into the Namespace app.
func (c *center) ingress() store.Key {
	return c.along("networking.k8s.io", "ingresses", "networking.k8s.io/v1", "Ingress", "web", nil,
		m{"defaultBackend": m{"service": m{"name": "web"}}})
}

func addressed(p *placement.Progress) { p.Addressed = true }

// What has an address is left when the other target has one, too; where that never comes, after a third of the
// time for the move. So it is for a Deployment that goes without its Namespace, and for an Ingress before its
// Service.
func TestAMoveWaitsForTheAddress(t *testing.T) {
	for _, tc := range []struct {
		name          string
		ingress, own  bool // the address is the Ingress's; the Deployment has a label of its own
		had, comes    bool
		stays, leaves time.Duration
	}{
		{"a Service's address comes", false, false, true, true, time.Minute, 70 * time.Second},
		{"an Ingress's, of a Deployment with a label", true, true, true, true, time.Minute, 70 * time.Second},
		{"it never comes", false, false, true, false, 199 * time.Second, 201 * time.Second},
		{"there was none", true, true, false, false, 4 * time.Second, 6 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
				web := c.web("")
				service, ingress := c.webService(nil), c.ingress()
				entry := service
				if tc.ingress {
					entry = ingress
				}
				arrive := func(target string, has bool) {
					t.Helper()
					for _, k := range []store.Key{web, service, ingress} {
						c.eventually("on "+target, func() bool { return c.has(target, k) })
						c.report(target, k, nil)
					}
					if has {
						c.report(target, entry, addressed)
					}
				}
				arrive("a", tc.had)
				synctest.Wait()
				if tc.own {
					c.web("b")
				} else {
					c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
				}
				arrive("b", false)
				began := time.Now()
				until := func(d time.Duration) { time.Sleep(time.Until(began.Add(d))); synctest.Wait() }
				until(tc.stays)
				if !c.has("a", web) {
					t.Fatalf("a is left before %s", tc.stays)
				}
				why := entry.Resource + "/web has no address there yet"
				_, _, message := c.namespaceMoving()
				if s := message + c.saidMoving(web).Message + c.moveOf("a"); strings.Contains(s, why) != tc.had {
					t.Errorf("it says %q", s)
				}
				if tc.comes {
					c.report("b", entry, addressed)
				}
				until(tc.leaves)
				if c.has("a", web) {
					t.Fatalf("a is not left after %s: %s", tc.leaves, c.moveOf("b"))
				}
			})
		})
	}
}
