package summary

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// born is the report of a Pod of Deployment web that was made at a time.
func born(at, phase string) *store.Report {
	r := podReport(phase)
	r.Object = json.RawMessage(fmt.Sprintf(`{"metadata":{"creationTimestamp":%q,"ownerReferences":[{
		"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"uid-web"}]},"spec":{}}`, at))
	return r
}

// TestMirrorsThatFinalizersKeep: what has gone at its target stays in the space as it was last, until
// its finalizers are taken off. The next one of its name is shown after that, and not asked for over
// and over.
func TestMirrorsThatFinalizersKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []struct{ restarted, terminating bool }{{false, false}, {true, false}, {false, true}} {
			restarted, terminating := at.restarted, at.terminating
			c := newCenter(t)
			c.place(web, "apps/v1", "Deployment", "a")
			pod := key("", "pods", "web-0")
			c.says("a", pod, born("t1", "Running"))
			c.eventually("mirrored", func() bool { return c.status(pod)["phase"] == "Running" })
			uid := c.uidOf(pod)
			change := func(how func(meta map[string]any)) {
				c.mu.Lock()
				defer c.mu.Unlock()
				o := spaceapitest.Clone(c.objects[pod])
				how(fields.Map(o, "metadata"))
				c.commit(pod, o)
			}
			change(func(meta map[string]any) { meta["finalizers"] = []any{"example.com/seen"} })
			grace := func() float64 {
				o, err := c.Get(t.Context(), pod, "")
				if err != nil {
					return -1
				}
				return graceOf(fields.Map(o, "metadata"))
			}
			c.says("a", pod, born("t1", "Succeeded"))
			c.eventually("its status follows", func() bool { return c.status(pod)["phase"] == "Succeeded" })
			going := func() bool {
				o, err := c.Get(t.Context(), pod, "")
				return err == nil && fields.String(fields.Map(o, "metadata"), "deletionTimestamp") != ""
			}
			if terminating {
				r := born("t1", "Succeeded")
				r.Object = json.RawMessage(strings.Replace(string(r.Object), `"ownerReferences"`,
					`"deletionTimestamp":"t","deletionGracePeriodSeconds":7,"ownerReferences"`, 1))
				c.says("a", pod, r)
				c.eventually("it is terminating", func() bool { return going() && grace() == 7 })
			}
			c.says("a", pod, nil)
			c.eventually("only its finalizer keeps it", func() bool { return going() && grace() == 0 })
			if c.uidOf(pod) != uid || c.status(pod)["phase"] != "Succeeded" {
				t.Errorf("it is %v, was %v; %v", c.uidOf(pod), uid, c.status(pod))
			}
			if restarted {
				c.stop()
				reports := c.reports
				next := newCenter(t)
				next.mu.Lock()
				for k, o := range c.objects {
					next.commit(k, o)
				}
				next.placed, next.reports = c.placed, reports
				next.mu.Unlock()
				c = next
			}
			c.mu.Lock()
			asked := c.creates
			c.mu.Unlock()
			c.says("a", pod, born("t2", "Pending"))
			for range 5 {
				if err := c.s.mirror(t.Context(), pod); err != nil {
					t.Error(err)
				}
			}
			c.mu.Lock()
			if c.creates != asked {
				t.Errorf("restarted %v: the next one was asked for %d times", restarted, c.creates-asked)
			}
			c.mu.Unlock()
			if c.uidOf(pod) != uid {
				t.Errorf("restarted %v: the next one is there already", restarted)
			}
			c.mu.Lock()
			c.commit(pod, nil) // as the API does with the last finalizer
			c.mu.Unlock()
			c.eventually("the next one is shown", func() bool {
				return c.status(pod)["phase"] == "Pending" && c.uidOf(pod) != uid
			})
			c.says("a", pod, nil)
			c.eventually("and goes", func() bool { return !c.exists(pod) })
			c.stop()
		}
	})
}
