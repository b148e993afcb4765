package summary

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// TestTheStatusOfTargetsThatWereLeftIsNotShown moves objects to a target that has not reported them.
func TestTheStatusOfTargetsThatWereLeftIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		claim := key("", "persistentvolumeclaims", "data")
		c.place(web, "apps/v1", "Deployment", "a")
		c.place(claim, "v1", "PersistentVolumeClaim", "a")
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":2,"readyReplicas":2,"conditions":` +
			`[{"type":"Available","status":"True"}]}`)})
		c.says("a", claim, &store.Report{OriginUID: "uid-data", Status: status(`{"phase":"Bound"}`)})
		c.eventually("it is shown", func() bool {
			return c.status(web)["readyReplicas"] != nil && c.status(claim)["phase"] == "Bound"
		})
		c.place(web, "apps/v1", "Deployment", "b")
		c.place(claim, "v1", "PersistentVolumeClaim", "b")
		c.s.queue.Add(web)
		c.s.queue.Add(claim)
		c.eventually("b has not reported it", func() bool {
			return c.status(web)["readyReplicas"] == nil && c.status(claim)["phase"] == "Pending"
		})
		is := byType(ours, c.status(web)["conditions"])
		if says := is[v1alpha1.ConditionObjectSynced]; len(is) != 1 || says["message"] != "not reported yet by b" {
			t.Errorf("it says %v", is)
		}
		writes := c.count()
		for range 3 {
			c.s.queue.Add(web)
		}
		c.says("b", claim, &store.Report{OriginUID: "uid-data", Status: status(`{"phase":"Bound"}`)})
		c.eventually("b has reported the claim", func() bool { return c.status(claim)["phase"] == "Bound" })
		if n := c.count() - writes; n != 1 {
			t.Errorf("%d writes more", n)
		}
		c.says("b", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":2,"readyReplicas":1}`)})
		c.eventually("b has reported it", func() bool { return c.status(web)["readyReplicas"] != nil })
		if is := c.status(web)["conditions"]; is != nil {
			t.Errorf("it still says %v", is)
		}
	})
}
