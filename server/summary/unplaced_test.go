package summary

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// storedWith stores an object with a status that the managers have written.
func (c *center) storedWith(k store.Key, kind string, targets string, status map[string]any, managers ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var managed []any
	for _, m := range managers {
		managed = append(managed, map[string]any{"manager": m, "fieldsV1": map[string]any{"f:status": map[string]any{}}})
	}
	meta := map[string]any{"name": k.Name, "uid": "uid-" + k.Name, "managedFields": managed}
	if targets != "" {
		meta["annotations"] = map[string]any{v1alpha1.AnnotationTargets: targets}
	}
	apiVersion := "v1"
	if k.Group != "" {
		apiVersion = k.Group + "/v1"
	}
	c.commit(k, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta, "status": status})
}

func TestWhatIsOnNoTargetShowsNoStatusOfATarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		scheduled := map[string]any{"type": v1alpha1.ConditionObjectScheduled, "status": "False", "reason": "NoTarget"}
		running := map[string]any{"replicas": float64(3), "readyReplicas": float64(3), "conditions": []any{
			map[string]any{"type": "Available", "status": "True"},
			map[string]any{"type": v1alpha1.ConditionObjectSynced, "status": "False"}, scheduled}}
		c.storedWith(web, "Deployment", "a", running, "skerry")
		claim := key("", "persistentvolumeclaims", "data")
		c.storedWith(claim, "PersistentVolumeClaim", "", map[string]any{"phase": "Bound"}, "skerry")
		kept := map[store.Key]map[string]any{
			key("batch", "jobs", "done"): {"succeeded": float64(1),
				"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}},
			key("apps", "deployments", "imported"): {"replicas": float64(1)},
			key("example.com", "things", "theirs"): {"ready": true},
		}
		c.storedWith(key("batch", "jobs", "done"), "Job", "", kept[key("batch", "jobs", "done")], "skerry")
		c.storedWith(key("apps", "deployments", "imported"), "Deployment", "", kept[key("apps", "deployments", "imported")], "skerry-cli")
		c.storedWith(key("example.com", "things", "theirs"), "Thing", "", kept[key("example.com", "things", "theirs")], "skerry", "operator")
		c.eventually("the claim", func() bool { return c.status(claim)["phase"] == "Pending" })
		if is := byType(ours, c.status(claim)["conditions"])[v1alpha1.ConditionObjectScheduled]; is["reason"] != "NoTarget" {
			t.Errorf("the claim says %v", is)
		}
		if c.status(web)["readyReplicas"] == nil {
			t.Error("what a target is named for has lost its status")
		}

		c.storedWith(web, "Deployment", "", running, "skerry")
		c.eventually("the Deployment", func() bool { return c.status(web)["replicas"] == nil })
		if is := byType(ours, c.status(web)["conditions"]); len(is) != 1 || is[v1alpha1.ConditionObjectScheduled] == nil {
			t.Errorf("conditions: %v", is)
		}
		time.Sleep(20 * time.Millisecond) // a write that should not come
		for k, status := range kept {
			if hashOf(c.status(k)) != hashOf(status) {
				t.Errorf("%s shows %v", k, c.status(k))
			}
		}
		if n := c.count(); n != 2 {
			t.Errorf("%d writes", n)
		}
		if c.s.Reset(9, storetest.Listing(func(func(store.Write) bool) {})); len(c.s.unplaced) != 0 {
			t.Error("what is gone is still kept")
		}
	})
}
