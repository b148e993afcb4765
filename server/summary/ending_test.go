package summary

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// TestAPlacedPodStaysUntilItHasEnded: a Pod that is being deleted stays in the space while a target
// reports it, with its last status, and goes when none does.
func TestAPlacedPodStaysUntilItHasEnded(t *testing.T) { synctest.Test(t, placedPodStays) }

func placedPodStays(t *testing.T) {
	c := newCenter(t)
	pod := key("", "pods", "bare")
	object := func(grace float64) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
			"name": "bare", "uid": "uid-bare", "deletionTimestamp": "t", "deletionGracePeriodSeconds": grace,
			"annotations": map[string]any{v1alpha1.AnnotationTargets: "a,b"},
		}}
	}
	says := func(target, phase string) {
		c.says(target, pod, &store.Report{OriginUID: "uid-bare", Status: status(`{"phase":%q}`, phase)})
	}
	says("a", "Running")
	says("b", "Running")
	c.mu.Lock()
	c.commit(pod, object(30))
	c.mu.Unlock()
	c.eventually("its status is shown", func() bool { return c.status(pod)["phase"] == "Running" })
	says("a", "Succeeded")
	c.eventually("its last status, too", func() bool { return c.status(pod)["phase"] == "Succeeded" })
	c.says("a", pod, nil)
	says("b", "Failed")
	c.eventually("the other target has it", func() bool { return c.status(pod)["phase"] == "Failed" })
	c.falls("b", true)
	c.says("b", pod, nil) // its reports are lost while it is away
	c.says("a", pod, nil)
	time.Sleep(time.Hour)
	if !c.exists(pod) {
		t.Fatal("it went though a target that is away may have it")
	}
	c.falls("b", false)
	c.says("b", pod, nil)
	c.eventually("it goes", func() bool { return !c.exists(pod) })
	c.stop()
	if len(c.s.ending) != 0 {
		t.Errorf("left in memory: %v", c.s.ending)
	}
}

// TestARefusedPodSaysWhy: where no target runs a Pod, kubectl get pods shows the reason; what a target says
// of it counts from then on.
func TestARefusedPodSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		pod := key("", "pods", "bare")
		c.place(pod, "v1", "Pod", "a")
		c.says("a", pod, &store.Report{OriginUID: "uid-bare", Error: &store.ReportError{Reason: "PodSecurity", Message: "no hostPath"}})
		c.eventually("the reason", func() bool {
			s := c.status(pod)
			return s["phase"] == "Pending" && s["reason"] == "PodSecurity" && s["message"] == "a: no hostPath"
		})
		c.says("a", pod, &store.Report{OriginUID: "uid-bare", Status: status(`{"phase":"Running"}`)})
		c.eventually("what the target says", func() bool {
			s := c.status(pod)
			return s["phase"] == "Running" && s["reason"] == nil && s["message"] == nil
		})
	})
}

// TestAPlacedClaimStaysWhileItIsInUse: a claim that is being deleted stays in the space as it was, while
// its target reports it, and goes when that has deleted it.
func TestAPlacedClaimStaysWhileItIsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		claim := key("", "persistentvolumeclaims", "data")
		c.says("a", claim, &store.Report{OriginUID: "uid-data", Status: status(`{"phase":"Bound"}`)})
		c.mu.Lock()
		c.commit(claim, map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{
			"name": "data", "uid": "uid-data", "deletionTimestamp": "t", "deletionGracePeriodSeconds": 1.0,
			"annotations": map[string]any{v1alpha1.AnnotationTargets: "a"},
		}, "status": map[string]any{"phase": "Bound"}})
		c.mu.Unlock()
		time.Sleep(time.Hour)
		if !c.exists(claim) || c.status(claim)["phase"] != "Bound" {
			t.Fatal("it went while its target has it")
		}
		c.says("a", claim, nil)
		c.eventually("it goes", func() bool { return !c.exists(claim) })
		c.stop()
	})
}

// TestWhatIsNotEndedHere: a Pod that waits for a finalizer alone, and one that was placed nowhere.
func TestWhatIsNotEndedHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		for name, notes := range map[string]map[string]any{
			"held": {v1alpha1.AnnotationTargets: "a"}, "nowhere": {},
		} {
			grace := 30.0
			if name == "held" {
				grace = 0
			}
			c.mu.Lock()
			c.commit(key("", "pods", name), map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
				"name": name, "uid": "u", "deletionTimestamp": "t", "deletionGracePeriodSeconds": grace, "annotations": notes,
			}})
			c.mu.Unlock()
			if ends, err := c.s.end(t.Context(), key("", "pods", name)); ends || err != nil {
				t.Errorf("%s: %v, %v", name, ends, err)
			}
		}
		if n := c.count(); n != 0 {
			t.Errorf("%d writes", n)
		}
	})
}
