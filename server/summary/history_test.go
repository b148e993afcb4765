package summary

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// TestAWorkloadControlsOneHistory: with the ReplicaSets of all targets, kubectl rollout undo goes back to the
// present, because each revision is there twice.
func TestAWorkloadControlsOneHistory(t *testing.T) {
	for resource, object := range map[string]string{
		"replicasets":         `"spec":{"replicas":1}`,
		"controllerrevisions": `"data":{"x":"y"},"revision":1`,
	} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCenter(t)
				c.place(web, "apps/v1", "Deployment", "a", "b")
				first, second := key("apps", resource, "web-1"), key("apps", resource, "web-1.b")
				for _, target := range []string{"a", "b"} {
					c.says(target, first, &store.Report{OriginUID: "uid-web", Object: json.RawMessage(
						`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"uid-web"}]},` +
							object + `}`)})
				}
				controls := func(k store.Key) bool {
					o, _ := c.Get(t.Context(), k, "")
					for owner := range fields.Maps(o, "metadata", "ownerReferences") {
						return owner["uid"] == "uid-web" && owner["controller"] == true
					}
					t.Errorf("%s has no owner", k)
					return false
				}
				c.eventually("mirrored", func() bool { return c.from(first) == "a" && c.from(second) == "b" })
				if !controls(first) || controls(second) {
					t.Errorf("controlled: %t of the first target, %t of the second", controls(first), controls(second))
				}
				c.place(web, "apps/v1", "Deployment", "b")
				c.says("a", first, nil)
				c.eventually("the history of the target that stays", func() bool { return c.from(first) == "b" && controls(first) })
			})
		})
	}
}
