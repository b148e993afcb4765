package summary

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// TestReplicasOfAnAutoscaler: what an autoscaler at the only target has set is written once, unless the
// target has not got the present version yet, or the space's autoscaler would not set that.
func TestReplicasOfAnAutoscaler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		defer c.stop()
		c.place(web, "apps/v1", "Deployment", "a")
		c.mu.Lock()
		c.commit(key("autoscaling", "horizontalpodautoscalers", "scaler"), map[string]any{
			"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
			"metadata": map[string]any{"name": "scaler", "uid": "uid-scaler"},
			"spec": map[string]any{"maxReplicas": int64(5),
				"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
		c.mu.Unlock()
		by := "scaler"
		set := func(generation, replicas int64) {
			c.mu.Lock()
			defer c.mu.Unlock()
			o := spaceapitest.Clone(c.objects[web])
			fields.Map(o, "metadata")["generation"] = generation
			o["spec"] = map[string]any{"replicas": replicas}
			at := c.placed[web]
			at.Generation = generation
			c.placed[web] = at
			c.commit(web, o)
		}
		replicas := func() int64 {
			o, err := c.Get(t.Context(), web, "")
			if err != nil {
				t.Error(err)
			}
			return customize.Number(fields.Map(o, "spec")["replicas"])
		}
		says := func(target string, generation, n int64) {
			c.says(target, web, &store.Report{OriginUID: "uid-web", Generation: generation,
				Filled: &store.Filled{Replicas: n, Autoscaler: by},
				Status: status(`{"replicas":%d,"observedGeneration":%d}`, n, generation)})
		}
		shows := func(n int64) {
			t.Helper()
			c.eventually("its status", func() bool { return customize.Number(c.status(web)["replicas"]) == n })
		}
		set(1, 1)
		says("a", 1, 3)
		c.eventually("it has what the autoscaler has set", func() bool { return replicas() == 3 })
		set(2, 3) // as the API counts that write
		writes := c.count()
		says("a", 2, 3)
		c.eventually("its status", func() bool { return customize.Number(c.status(web)["observedGeneration"]) == 2 })
		if n := c.count(); n != writes+1 || replicas() != 3 {
			t.Errorf("%d replicas after %d writes", replicas(), n-writes)
		}

		says("a", 2, 6) // more than the autoscaler allows
		shows(6)
		by = "other"
		says("a", 2, 4)
		shows(4)
		if replicas() != 3 {
			t.Errorf("%d replicas, which no autoscaler of the space has set", replicas())
		}
		by = "scaler"

		set(3, 0) // its author stops it, and the target does not know yet
		says("a", 2, 4)
		shows(4)
		if replicas() != 0 {
			t.Errorf("what was stopped has %d replicas", replicas())
		}
		says("a", 3, 0)
		shows(0)
		if replicas() != 0 {
			t.Errorf("what was stopped has %d replicas", replicas())
		}

		set(4, 2)
		c.mu.Lock()
		at := c.placed[web]
		at.Targets = []string{"a", "b"}
		c.placed[web] = at
		c.mu.Unlock()
		says("a", 4, 5)
		says("b", 4, 6)
		c.eventually("its status", func() bool { return customize.Number(c.status(web)["observedGeneration"]) == 4 })
		if replicas() != 2 {
			t.Errorf("of two targets one says %d replicas", replicas())
		}
	})
}
