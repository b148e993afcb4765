package summary

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store"
)

// ownedBy is the report of an object that a ReplicaSet of Deployment web controls; an empty name is
// the Deployment itself.
func ownedBy(set, extra, phase string) *store.Report {
	second := ""
	if set != "" {
		second = fmt.Sprintf(`,{"apiVersion":"apps/v1","kind":"ReplicaSet","name":%q,"uid":"there"}`, set)
	}
	return &store.Report{
		OriginUID: "uid-web", Status: status(`{"phase":%q}`, phase),
		Object: json.RawMessage(`{"metadata":{"uid":"there-` + set + `"` + extra +
			`,"ownerReferences":[{"apiVersion":"apps/v1",
			"kind":"Deployment","name":"web","uid":"uid-web","controller":true}` + second + `]},"spec":{}}`),
	}
}

// owner is KIND/NAME UID of what controls an object of the space.
func (c *center) owner(k store.Key) string {
	o, err := c.Get(c.t.Context(), k, "")
	if err != nil {
		return err.Error()
	}
	refs, _ := o["metadata"].(map[string]any)["ownerReferences"].([]any)
	if len(refs) != 1 {
		return fmt.Sprint(refs)
	}
	ref := refs[0].(map[string]any)
	if ref["controller"] != true {
		return "no controller"
	}
	return fmt.Sprintf("%v/%v %v", ref["kind"], ref["name"], ref["uid"])
}

func (c *center) uidOf(k store.Key) string {
	o, err := c.Get(c.t.Context(), k, "")
	if err != nil {
		return ""
	}
	uid, _ := o["metadata"].(map[string]any)["uid"].(string)
	return uid
}

// TestMirrorsShowTheirTrueOwner: a Pod belongs to the ReplicaSet of the space, whichever of the two
// is reported first, and follows when that is made anew.
func TestMirrorsShowTheirTrueOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod, set := key("", "pods", "web-1-x"), key("apps", "replicasets", "web-1")
		c.says("a", pod, ownedBy("web-1", "", "Pending"))
		c.says("a", set, ownedBy("", "", ""))
		c.eventually("the Pod belongs to the ReplicaSet", func() bool {
			return c.owner(pod) == "ReplicaSet/web-1 "+c.uidOf(set)
		})
		if got := c.owner(set); got != "Deployment/web uid-web" {
			t.Errorf("the ReplicaSet belongs to %s", got)
		}
		if n := c.count(); n != 2 {
			t.Errorf("%d writes", n)
		}
		c.says("a", pod, ownedBy("web-1", "", "Running"))
		c.eventually("its status follows", func() bool { return c.status(pod)["phase"] == "Running" })
		uid, old := c.uidOf(pod), c.uidOf(set)
		c.mu.Lock()
		c.commit(set, nil) // somebody deleted it
		c.mu.Unlock()
		c.eventually("it belongs to the new ReplicaSet", func() bool {
			now := c.uidOf(set)
			return now != "" && now != old && c.owner(pod) == "ReplicaSet/web-1 "+now
		})
		if c.uidOf(pod) != uid {
			t.Error("the Pod was made anew")
		}
		c.says("a", pod, nil)
		c.says("a", set, nil)
		c.eventually("all gone", func() bool { return !c.exists(pod) && !c.exists(set) })
		c.stop()
		if len(c.s.below) != 0 || len(c.s.mirrors) != 0 {
			t.Errorf("left in memory: %v, %v", c.s.below, c.s.mirrors)
		}
	})
}

// TestAnOwnerThatNeverComes: a Pod whose ReplicaSet the space does not get belongs to the placed
// object.
func TestAnOwnerThatNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod := key("", "pods", "web-1-x")
		c.says("a", pod, ownedBy("web-1", "", "Running"))
		c.eventually("the Pod is there", func() bool { return c.owner(pod) == "Deployment/web uid-web" })
		c.says("a", pod, ownedBy("web-1", "", "Failed"))
		c.eventually("and its status follows", func() bool { return c.status(pod)["phase"] == "Failed" })
	})
}

// TestAMirrorIsShownToEnd: a Pod that is being deleted at its target is so in the space, until it
// has gone.
func TestAMirrorIsShownToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod := key("", "pods", "web-0")
		c.says("a", pod, ownedBy("", "", "Running"))
		c.eventually("mirrored", func() bool { return c.uidOf(pod) != "" })
		grace := func() any {
			o, _ := c.Get(t.Context(), pod, "")
			meta, _ := o["metadata"].(map[string]any)
			return meta["deletionGracePeriodSeconds"]
		}
		writes := c.count()
		c.says("a", pod, ownedBy("", `,"deletionTimestamp":"t","deletionGracePeriodSeconds":7`, "Running"))
		c.eventually("terminating", func() bool { return grace() == 7.0 })
		c.says("a", pod, ownedBy("", `,"deletionTimestamp":"t","deletionGracePeriodSeconds":7`, "Succeeded"))
		c.eventually("its status follows", func() bool { return c.status(pod)["phase"] == "Succeeded" })
		if n := c.count() - writes; n != 2 {
			t.Errorf("%d writes", n)
		}
		c.says("a", pod, nil)
		c.eventually("gone", func() bool { return !c.exists(pod) })
	})
}
