package observe

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

// noDisk keeps nothing.
type noDisk struct{}

func (noDisk) Piggyback(func() bolt.Pending) {}
func (noDisk) Commit() error                 { return nil }

func (noDisk) Each(func(store.Key, inventory.Record) error) error { return nil }

const (
	ownUID = "b7a1c8c2-0000-4000-8000-%012d"
	podUID = "3f9e4d10-0000-4000-8000-%012d"
)

// place puts an object into the inventory and the feed, as after its apply.
func (o *Observer) place(i int) store.Key {
	k := store.Key{
		Space:     "team-a",
		Group:     "apps",
		Resource:  "deployments",
		Namespace: "shop",
		Name:      fmt.Sprint("web-", i),
	}
	r := inventory.Record{
		UID:             fmt.Sprintf(ownUID, i),
		OriginUID:       fmt.Sprintf(ownUID, 1e9+i),
		APIVersion:      "apps/v1",
		Kind:            "Deployment",
		Generation:      1,
		ResourceVersion: fmt.Sprint(i + 1),
	}
	o.Inventory.Put(k, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	rec := o.recordLocked(k)
	rec.applied(r)
	o.publishLocked(k)
	return k
}

// pod has the target make a Pod of a placed object.
func (o *Observer) pod(i, of int) {
	o.seen(watchKey{resource: podResource}, &target.Object{APIVersion: "v1", Kind: "Pod", Metadata: target.Metadata{
		Name: fmt.Sprintf(
			"web-%d-5d89bdfbf9-%d",
			of,
			i,
		), Namespace: strings.Clone("shop"), UID: fmt.Sprintf(podUID, i), ResourceVersion: fmt.Sprint(10_000 + i),
		OwnerReferences: []target.Owner{
			{
				APIVersion: "apps/v1",
				Kind:       "Deployment",
				Name:       fmt.Sprint("web-", of),
				UID:        fmt.Sprintf(ownUID, of),
				Controller: true,
			},
		},
	}, Spec: []byte(`{"nodeName":"n1"}`), Status: []byte(`{"phase":"Running"}`)})
}

// burst makes Pods for a while and removes them, as a rollout or a crash loop does. Everything that
// is reported arrives.
func (o *Observer) burst(from, to, objects int) {
	for i := from; i < to; i++ {
		o.pod(i, i%objects)
	}
	for i := from; i < to; i++ {
		o.gone(fmt.Sprintf(podUID, i), true)
		if i%10 == 0 {
			o.arrived()
		}
	}
	o.arrived()
}

func (o *Observer) arrived() {
	_, _, c := o.feed.Snapshot()
	o.feed.Acknowledge(c)
}

// indifferent is an applier that nothing concerns.
type indifferent struct{}

func (indifferent) Seen(store.Key, inventory.Sight)             {}
func (indifferent) Vanished(store.Key, string, bool, bool) bool { return false }
func (indifferent) Rewound([]store.Key)                         {}

// What a site holds in memory is what it has now: ten times as many Pods for a while leave nothing
// behind, and neither do generations of them.
func TestMemoryAfterABurst(t *testing.T) {
	storetest.Figure(t)
	const objects, pods = 500, 500
	live := func() float64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc)
	}
	began := live()
	records, err := inventory.Open(noDisk{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o := New(
		Config{Inventory: records, Desired: func(store.Key) []byte { return nil }, Log: slog.New(slog.DiscardHandler)},
	)
	o.Bind(indifferent{})
	for i := range objects {
		o.place(i)
	}
	if err := records.Flush(); err != nil {
		t.Fatal(err)
	}
	placed := live() - began
	for i := range pods {
		o.pod(i, i%objects)
	}
	o.burst(pods, 3*pods, objects) // its tombstones are kept, a few
	before := live() - began
	for i := pods; i < 10*pods; i++ {
		o.pod(i, i%objects)
	}
	most := live() - began
	for i := pods; i < 10*pods; i++ {
		o.gone(fmt.Sprintf(podUID, i), true)
		o.arrived()
	}
	after := live() - began
	for i := range 10 {
		o.burst((10+i)*pods, (11+i)*pods, objects)
	}
	late := live() - began
	t.Logf(
		"%.0f KB with %d objects, %.0f more with %d Pods, %.0f more with ten times as many, "+
			"%+.1f %% without them, %+.1f %% after 10 generations",
		placed/1e3,
		objects,
		(before-placed)/1e3,
		pods,
		(most-before)/1e3,
		100*(after-before)/before,
		100*(late-before)/before,
	)
	if o.feed.Len() != objects+pods {
		t.Fatalf("%d reports, want %d", o.feed.Len(), objects+pods)
	}
	if most < 2*before {
		t.Error("the burst costs nothing: nothing is measured")
	}
	if after > 1.03*before || late > 1.03*before {
		t.Error("what was there for a while has left its room behind")
	}
	runtime.KeepAlive(o)
}
