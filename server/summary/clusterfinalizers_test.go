package summary

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// TestFinalizersOfAClusterGoWithItsCopy deletes objects with a finalizer that no controller of the space takes
// off.
func TestFinalizersOfAClusterGoWithItsCopy(t *testing.T) {
	for _, of := range []struct {
		key                         store.Key
		apiVersion, kind, finalizer string
	}{
		{key("", "persistentvolumeclaims", "data"), "v1", "PersistentVolumeClaim", "kubernetes.io/pvc-protection"},
		{key("", "services", "web"), "v1", "Service", "service.kubernetes.io/load-balancer-cleanup"},
		{key("", "pods", "bare"), "v1", "Pod", "batch.kubernetes.io/job-tracking"},
	} {
		for _, on := range []string{"a", ""} {
			t.Run(of.kind+" on "+on, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCenter(t)
					finalizers := func() []any {
						o, _ := c.Get(t.Context(), of.key, of.apiVersion)
						return fields.List(fields.Map(o, "metadata"), "finalizers")
					}
					if on != "" {
						c.says(on, of.key, &store.Report{OriginUID: "uid"})
					}
					c.mu.Lock()
					c.commit(of.key, map[string]any{"apiVersion": of.apiVersion, "kind": of.kind, "metadata": map[string]any{
						"name": of.key.Name, "uid": "uid", "deletionTimestamp": "t", "annotations": map[string]any{
							v1alpha1.AnnotationTargets: on}, "finalizers": []any{of.finalizer, "example.org/mine"}}})
					c.mu.Unlock()
					time.Sleep(time.Minute)
					if on != "" && len(finalizers()) != 2 {
						t.Fatalf("the target has its copy, and the space %v", finalizers())
					}
					if on != "" {
						c.says(on, of.key, nil)
					}
					c.eventually("it is taken off", func() bool { return len(finalizers()) < 2 })
					if is := finalizers(); len(is) != 1 || is[0] != "example.org/mine" {
						t.Errorf("left are %v", is)
					}
					c.stop()
				})
			})
		}
	}
}
