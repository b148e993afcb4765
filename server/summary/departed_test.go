package summary

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store"
)

// A Pod that has gone from its space is remembered with its owner and its target, and with the Pods
// that the owner has now. One that comes back is not. A name that nobody had is known to nobody.
func TestADepartedPodIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		old, fresh := key("", "pods", "web-0"), key("", "pods", "web-1")
		if _, known := DepartedPod(c.s, old); known {
			t.Error("a Pod that never was is known")
		}
		c.says("a", old, podReport("Running"))
		c.eventually("it is shown", func() bool { return c.exists(old) })
		if _, known := DepartedPod(c.s, old); known {
			t.Error("a Pod that is shown has gone")
		}
		c.place(web, "apps/v1", "Deployment", "b")
		c.says("b", fresh, podReport("Running"))
		c.says("a", old, nil)
		c.eventually("another one is shown", func() bool { return c.exists(fresh) && !c.exists(old) })
		c.eventually("it is remembered", func() bool {
			was, known := DepartedPod(c.s, old)
			return known && was.Owner == web && was.Target == "a" && slices.Equal(was.Pods, []string{"web-1"})
		})
		c.says("b", old, podReport("Running"))
		c.eventually("it is shown again, elsewhere", func() bool { return c.exists(old) })
		c.eventually("it has not gone", func() bool {
			_, known := DepartedPod(c.s, old)
			return !known
		})
	})
}

// What is remembered is bounded, of each space and of all: one in which many Pods come and go costs the
// others nothing.
func TestDepartedAreBounded(t *testing.T) {
	var d departed
	pod := func(space string, i int) store.Key {
		return store.Key{Space: space, Resource: "pods", Namespace: "n", Name: fmt.Sprint("p", i)}
	}
	d.add(pod("quiet", 0), web, "a")
	for i := range 2 * departedOfAll {
		d.add(pod("busy", i), web, "a")
	}
	if len(d.order["busy"]) != departedOfSpace || len(d.was) != departedOfSpace+1 {
		t.Errorf("%d of the busy space, %d of all", len(d.order["busy"]), len(d.was))
	}
	if _, latest := d.was[pod("busy", 2*departedOfAll-1)]; !latest {
		t.Error("the latest is not known")
	}
	for i := range departedOfAll {
		d.add(pod(fmt.Sprint("s", i/100), i), web, "a")
	}
	if _, quiet := d.was[pod("quiet", 0)]; !quiet || len(d.was) != departedOfAll {
		t.Errorf("%d are known, the quiet space's: %t", len(d.was), quiet)
	}
	for k := range d.was {
		d.forget(k)
	}
	if d.add(store.Key{Space: "s", Resource: "persistentvolumeclaims", Name: "c"}, web, "a"); len(d.was)+len(d.order) > 0 {
		t.Errorf("%d are left, in %d spaces", len(d.was), len(d.order))
	}
}
