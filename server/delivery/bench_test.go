package delivery

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

func quiet10k(b *testing.B) *Delivery {
	d := still()
	target, space, ns := rootKey("synctargets", "a"), rootKey("spaces", "shop"), nsKey("app")
	d.Reset(1, storetest.Listing(slices.Values([]store.Write{
		{Key: target, Revision: 1, Object: obj("skerry.dev/v1alpha1", "SyncTarget", meta("a"))},
		{Key: space, Revision: 1, Object: obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec",
			map[string]any{"defaultTargets": map[string]any{"count": int64(1)}})},
		{
			Key:        ns,
			APIVersion: "v1",
			Kind:       "Namespace",
			Revision:   1,
			Object: obj("v1", "Namespace", map[string]any{"name": "app",
				"annotations": map[string]any{"skerry.dev/targets": "a"}}),
		},
	})))
	b.Cleanup(func() { stop(d) })
	return d
}

func deploymentWrite(i int) store.Write {
	k := key("apps", "deployments", fmt.Sprint("web-", i))
	return store.Write{
		Key:        k,
		APIVersion: "apps/v1",
		Kind:       "Deployment",
		Revision:   int64(i + 2),
		Object: obj(
			"apps/v1",
			"Deployment",
			map[string]any{
				"name":            k.Name,
				"namespace":       "app",
				"uid":             fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
				"generation":      int64(1),
				"resourceVersion": fmt.Sprint(i + 2),
				"labels":          map[string]any{"app": "web", "tier": fmt.Sprint(i % 20)},
				"annotations":     map[string]any{"skerry.dev/targets": "a"},
			},
			"spec",
			map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{
					"name":  "web",
					"image": "registry.example.org/web:1",
					"env":   []any{map[string]any{"name": "A", "value": "b"}},
				}}}}},
		),
	}
}

// BenchmarkApply measures the time from a write to its entry in the feed, and the memory of 10,000
// placed objects: the catalog's own, and with the feed of the one target that they are on.
func BenchmarkApply(b *testing.B) {
	const objects = 10_000
	d := quiet10k(b)
	before := heap()
	var worst time.Duration
	start := time.Now()
	for i := range objects {
		w := deploymentWrite(i)
		t := time.Now()
		d.Apply(w)
		worst = max(worst, time.Since(t))
	}
	took := time.Since(start)
	d.bodies = bodies{items: map[store.Key]*body{}, limit: bodyBytes}
	both := heap() - before
	feed := d.Feed("a")
	if feed.Len() != objects+1 {
		b.Fatalf("%d entries", feed.Len())
	}
	d.targets["a"].feed = store.NewFeed(store.Incarnation{}, 0, d.body)
	feed = nil
	alone := heap() - before
	runtime.KeepAlive(d)
	i := objects
	for b.Loop() {
		d.Apply(deploymentWrite(i))
		i++
	}
	b.ReportMetric(float64(both)/objects, "B/object+feed")
	b.ReportMetric(float64(alone)/objects, "B/object")
	b.ReportMetric(float64(took.Microseconds())/objects, "us/apply")
	b.ReportMetric(float64(worst.Microseconds()), "us/worst")
}

// BenchmarkStatusEcho measures a write that changes nothing that is sent.
func BenchmarkStatusEcho(b *testing.B) {
	d := quiet10k(b)
	d.Apply(deploymentWrite(0))
	for b.Loop() {
		w := deploymentWrite(0)
		w.Object["status"] = map[string]any{"replicas": int64(3)}
		d.Apply(w)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
