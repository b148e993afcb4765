package summary

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
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
		says("a", 4, 4)
		says("b", 4, 5)
		c.eventually("those of the target whose counts are shown", func() bool {
			return replicas() == 5 && customize.Number(c.status(web)["replicas"]) == 5
		})

		// Divided, it has what both were given, once both have the present version.
		c.mu.Lock()
		at = c.placed[web]
		at.Divided = true
		c.placed[web] = at
		c.mu.Unlock()
		c.s.mu.Lock()
		delete(c.s.autoscaled, web) // as after a restart: it does not wait for what was written before
		c.s.mu.Unlock()
		set(5, 1)
		says("a", 5, 2)
		if err := c.s.write(t.Context(), web); err != nil || replicas() != 1 {
			t.Errorf("%d replicas before the other target has the version, %v", replicas(), err)
		}
		says("b", 5, 3)
		c.eventually("the sum", func() bool { return replicas() == 5 })
	})
}

// TestScaledTo: what several targets say together, and when they say nothing.
func TestScaledTo(t *testing.T) {
	by := func(generation, n int64) *store.Report {
		return &store.Report{Generation: generation, Filled: &store.Filled{Replicas: n, Autoscaler: "scaler"}}
	}
	ready := func(n, of int64) *store.Report {
		r := by(7, of)
		r.Status = status(`{"replicas":%d,"readyReplicas":%d,"availableReplicas":%d,"updatedReplicas":%d}`, of, n, n, of)
		return r
	}
	runs := func(n int) *store.Report { return &store.Report{Generation: 7, Status: status(`{"replicas":%d}`, n)} }
	for name, c := range map[string]struct {
		divided bool
		reports []*store.Report
		want    int64
	}{
		"one target":                {false, []*store.Report{by(7, 3)}, 3},
		"one of a divided":          {true, []*store.Report{by(7, 3)}, 3},
		"both":                      {true, []*store.Report{by(7, 3), by(7, 2)}, 5},
		"each has all":              {false, []*store.Report{ready(5, 5), ready(3, 3)}, 3},
		"the larger one is short":   {false, []*store.Report{ready(4, 5), ready(3, 3)}, 5},
		"one that has no other":     {false, []*store.Report{ready(3, 3), runs(2)}, 0},
		"one that is behind":        {false, []*store.Report{ready(3, 3), by(6, 2)}, 0},
		"one that is silent":        {false, []*store.Report{ready(3, 3), nil}, 0},
		"one has an older version":  {true, []*store.Report{by(7, 3), by(6, 2)}, 0},
		"one has said nothing":      {true, []*store.Report{by(7, 3), nil}, 0},
		"one without an autoscaler": {true, []*store.Report{runs(2), by(7, 3)}, 5},
		"one with nothing":          {true, []*store.Report{by(7, 3), {Generation: 7}}, 3},
		"none has an autoscaler":    {true, []*store.Report{runs(2), runs(1)}, 0},
		"one lies":                  {true, []*store.Report{by(7, 1<<62), by(7, 1<<62)}, 0},
	} {
		f := scaledTo(placement.Located{Key: web, Generation: 7, Divided: c.divided}, c.reports)
		if (f == nil) != (c.want == 0) || f != nil && (f.Replicas != c.want || f.Autoscaler != "scaler") {
			t.Errorf("%s: %+v, want %d", name, f, c.want)
		}
	}
	if scalePause(1) != 0 || scalePause(2) != 4*time.Second || scalePause(100) != 200*time.Second {
		t.Error("pauses")
	}
}
