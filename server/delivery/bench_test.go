package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

func quiet10k(b testing.TB, with ...func(*Config)) *Delivery {
	d := still(with...)
	target, space, ns := rootKey("synctargets", "a"), rootKey("spaces", "shop"), nsKey("app")
	var known scheduler.Targets
	placed := binding.Record{Places: []binding.Place{{Target: known.ID("uid-a", "a")}}}
	value, err := scheduler.Record{Unit: catalog.UnitOf(ns), Binding: &binding.Binding{Unit: "uid-app", Record: placed}}.Encode(&known)
	if err != nil {
		b.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(value, &record); err != nil {
		b.Fatal(err)
	}
	d.Reset(1, storetest.Listing(slices.Values([]store.Write{
		{Key: target, Revision: 1, Object: obj("skerry.dev/v1alpha1", "SyncTarget",
			map[string]any{"name": "a", "uid": "uid-a"})},
		{Key: scheduler.BindingKey("shop", "uid-app"), Revision: 1, Object: record},
		{Key: space, Revision: 1, Object: obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec",
			map[string]any{"defaultTargets": map[string]any{"count": int64(1)}})},
		{
			Key:        ns,
			APIVersion: "v1",
			Kind:       "Namespace",
			Revision:   1,
			Object: obj("v1", "Namespace", map[string]any{"name": "app", "uid": "uid-app",
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
				"annotations":     map[string]any{"skerry.dev/targets": "a", "skerry.dev/unit": "uid-app"},
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
	d.Rest()
	both := heap() - before
	feed := d.Feed("a")
	if feed.Len() != objects+1 {
		b.Fatalf("%d entries", feed.Len())
	}
	d.catalog.Targets["a"].Feed = store.NewFeed(store.Incarnation{}, 0, nil)
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

// BenchmarkTargets measures the memory of each object at each of 100 targets that all have the same
// 1,000 objects, beside that of the object.
func BenchmarkTargets(b *testing.B) {
	const objects, targets = 1000, 100
	d := quiet10k(b)
	for i := range objects {
		d.Apply(deploymentWrite(i))
	}
	d.Rest()
	before := heap()
	feeds := make([]*store.Feed, targets)
	for i := range feeds {
		feeds[i] = store.NewFeed(store.Incarnation{}, 0, nil)
		d.catalog.Lock()
		d.catalog.EachObject(func(o *catalog.Object) { feeds[i].Apply(o.Revision, d.catalog.Change(o, "a")) })
		d.catalog.Unlock()
	}
	both := heap() - before
	runtime.KeepAlive(feeds)
	for b.Loop() {
		feeds[0].Head()
	}
	b.ReportMetric(float64(both)/objects/targets, "B/object+target")
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

// crowd is a catalog with 1,000 targets, 200 Placements and 5,000 objects, of which each Placement selects
// 25. All is decided, and every target is ready with what it has.
type crowd struct {
	*Delivery
	b        *testing.B
	revision int64
}

func newCrowd(b *testing.B) *crowd {
	c := &crowd{b: b, revision: 1}
	c.Delivery = quiet10k(b, func(cfg *Config) { cfg.Progress, cfg.Records = c.ready, c })
	for i := range 1000 {
		c.apply(coloredTarget(i, i, "red"))
	}
	for i := range 200 {
		c.apply(tierPlacement(i, 1))
	}
	for i := range 5000 {
		w := deploymentWrite(i)
		meta := w.Object["metadata"].(map[string]any)
		meta["labels"] = map[string]any{"tier": fmt.Sprint("p-", i%200)}
		delete(meta, "annotations")
		c.apply(w.Key, w.Object)
	}
	c.decideAll()
	for name, book := range c.catalog.Spaces["shop"].Placements {
		if here := book.Group.Record.List(); len(here) != 20 || !book.Group.Rests {
			b.Fatalf("Placement %s is at %d targets, and rests: %t", name, len(here), book.Group.Rests)
		}
	}
	return c
}

func (c *crowd) apply(k store.Key, o map[string]any) {
	c.revision++
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	c.Apply(store.Write{Key: k, APIVersion: apiVersion, Kind: kind, Revision: c.revision, Object: o})
}

// Write implements scheduler.Records.
func (c *crowd) Write(_ context.Context, k store.Key, value []byte, _ int64) (int64, bool, error) {
	var record map[string]any
	if err := json.Unmarshal(value, &record); err != nil {
		return 0, false, err
	}
	c.apply(k, record)
	return c.revision, true, nil
}

func (c *crowd) ready(target string, k store.Key) (placement.Progress, bool) {
	e, ok := c.Feed(target).Get(k)
	return placement.Progress{UID: c.catalog.Find(k).UID, Applied: e.Hash, Ready: true}, ok
}

// decideAll decides until nothing is left to decide, and returns how many times it looked at something.
func (c *crowd) decideAll() (looks int) {
	for ; c.catalog.Groups.Len() > 0; looks++ {
		r, _ := c.catalog.Groups.Get()
		if err := c.decide(c.b.Context(), r); err != nil {
			c.b.Fatal(err)
		}
		c.catalog.Groups.Done(r)
	}
	return looks
}

func coloredTarget(i, region int, color string) (store.Key, map[string]any) {
	name := fmt.Sprint("t-", i)
	return rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", map[string]any{"name": name,
		"uid": name, "labels": map[string]any{"region": fmt.Sprint(region % 50), "color": color}})
}

// tierPlacement selects the objects of one tier.
func tierPlacement(i int, generation int64) (store.Key, map[string]any) {
	name := fmt.Sprint("p-", i)
	return catalog.PlacementKey("shop", name), obj("skerry.dev/v1alpha1", "Placement", map[string]any{"name": name, "uid": name,
		"generation": generation}, "spec", map[string]any{
		"objects": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"tier": name}}}},
		"targets": map[string]any{"selectors": []any{map[string]any{"matchLabels": map[string]any{
			"region": fmt.Sprint(i % 50)}}}}})
}

// BenchmarkLabelOfATarget measures a change of a label of one of 1,000 targets, where no Placement asks
// for that label.
func BenchmarkLabelOfATarget(b *testing.B) {
	c := newCrowd(b)
	colors := []string{"red", "blue"}
	i, looks := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		c.apply(coloredTarget(7, 7, colors[i%2]))
		looks += c.decideAll()
	}
	b.ReportMetric(float64(looks)/float64(i), "looks/op")
}

// BenchmarkRegionOfATarget measures a change of a label of one of 1,000 targets that 8 of 200 Placements ask for:
// four of them leave the target, and four go there.
func BenchmarkRegionOfATarget(b *testing.B) {
	c := newCrowd(b)
	i, looks := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		c.apply(coloredTarget(7, 7+i%2, "red"))
		looks += c.decideAll()
	}
	b.ReportMetric(float64(looks)/float64(i), "looks/op")
}

// BenchmarkPlacementWritten measures a new generation of one of 200 Placements, which changes nothing of
// what it selects.
func BenchmarkPlacementWritten(b *testing.B) {
	c := newCrowd(b)
	i, looks := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		c.apply(tierPlacement(7, int64(i+1)))
		looks += c.decideAll()
	}
	b.ReportMetric(float64(looks)/float64(i), "looks/op")
}

// BenchmarkLook measures what a decision about one of 200 Placements reads of the catalog.
func BenchmarkLook(b *testing.B) {
	c := newCrowd(b)
	r := catalog.Ref{Kind: catalog.OfPlacement, Key: catalog.PlacementKey("shop", "p-7")}
	b.ReportAllocs()
	for b.Loop() {
		if p := c.look(r); p == nil {
			b.Fatal("nothing to decide")
		}
	}
}
