package desired

import (
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// divided is a state in which a Placement divides the replicas of a Deployment among the targets a and b.
func divided(t *testing.T) (st *State, web store.Write) {
	t.Helper()
	st = New(Config{
		Incarnation: store.Incarnation{1},
		Progress:    func(string, store.Key) (placement.Progress, bool) { return placement.Progress{}, false },
		Refuse:      func(store.Key, *store.ReportError) {},
		Event:       func(placement.Event) {},
		Log:         slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, catalog.New())
	t.Cleanup(func() {
		for _, q := range []interface{ ShutDown() }{st.catalog.Groups, st.catalog.Notes, st.catalog.Renders,
			st.catalog.Says, st.catalog.Status, st.catalog.HookJobs, st.catalog.Rolls} {
			q.ShutDown()
		}
	})
	var known scheduler.Targets
	p := catalog.PlacementKey("shop", "p")
	b := binding.Binding{Unit: "uid-p", Record: binding.Record{Places: []binding.Place{
		{Target: known.ID("uid-a", "a")}, {Target: known.ID("uid-b", "b")}}}}
	value, err := scheduler.Record{Unit: catalog.UnitOf(p), Binding: &b}.Encode(&known)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(value, &record); err != nil {
		t.Fatal(err)
	}
	at := func(k store.Key, kind string, of map[string]any) store.Write {
		of["metadata"].(map[string]any)["name"] = k.Name
		return store.Write{Key: k, APIVersion: k.Group + "/v1", Kind: kind, Revision: 1, Object: of}
	}
	root := func(resource, name string) store.Key {
		return store.Key{Space: v1alpha1.RootSpace, Group: v1alpha1.GroupVersion.Group, Resource: resource, Name: name}
	}
	type m = map[string]any
	web = at(store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "web"},
		"Deployment", m{"metadata": m{"namespace": "app", "uid": "uid-web", "labels": m{"app": "web"}, "generation": int64(1),
			"annotations": m{v1alpha1.AnnotationUnit: "uid-p"}}, "spec": m{"replicas": int64(4)}})
	st.Reset(1, storetest.Listing(slices.Values([]store.Write{
		at(root("synctargets", "a"), "SyncTarget", m{"metadata": m{"uid": "uid-a"}}),
		at(root("synctargets", "b"), "SyncTarget", m{"metadata": m{"uid": "uid-b"}}),
		at(root("spaces", "shop"), "Space", m{"metadata": m{"uid": "uid-shop"}}),
		at(p, "Placement", m{"metadata": m{"uid": "uid-p", "generation": int64(1)}, "spec": m{
			"objects": []any{m{"labelSelector": m{"matchLabels": m{"app": "web"}}}},
			"targets": m{"names": []any{"a", "b"}, "replicas": "Divided"}}}),
		{Key: scheduler.BindingKey("shop", "uid-p"), Revision: 1, Object: record},
		at(catalog.NamespaceKey("shop", "app"), "Namespace", m{"metadata": m{"uid": "uid-app"}}),
		web,
	})))
	return st, web
}

// An object that is yet to be rendered with its shares joins no target, and is rendered when a cohort
// that it is in goes on.
func TestAnObjectWithoutItsSharesJoinsNothing(t *testing.T) {
	d, web := divided(t)
	d.catalog.Lock()
	defer d.catalog.Unlock()
	o := d.catalog.Find(web.Key)
	shared := o.Options
	if !o.On.Has("a") || !o.On.Has("b") || shared == nil || shared.Division == nil {
		t.Fatalf("on %v, rendered with %+v", o.On.List(), shared)
	}
	whole := *shared
	whole.Division = nil
	onlyA := d.catalog.Sets.Of([]string{"a"})
	o.Options = &whole
	d.charge(o, onlyA)
	o.On = onlyA
	s := d.begin(d.catalog.Revision)
	if s.settle(o, false); o.On.Has("b") {
		t.Error("b gets all replicas")
	}
	before := d.catalog.Renders.Len()
	s.passed(&catalog.Cohort{Objects: map[*catalog.Object]struct{}{o: {}}}, false)
	if d.catalog.Renders.Len() != before+1 {
		t.Error("it is not rendered again")
	}
	o.Options = shared
	if s.settle(o, false); !o.On.Has("b") {
		t.Error("b never gets its share")
	}
}

// The rendered body of an object that is deleted is dropped with it: names that come and go would
// fill the room of all others. That of one which was made anew under the name stays.
func TestBodyGoesWithItsObject(t *testing.T) {
	d, web := divided(t)
	hash := func() store.Hash {
		d.catalog.RLock()
		defer d.catalog.RUnlock()
		return d.catalog.Find(web.Key).Hash
	}
	if d.bodies.get(web.Key, hash()) == nil {
		t.Fatal("the body is not kept")
	}
	size, count := d.bodies.size, len(d.bodies.items)
	d.Apply(store.Write{Key: web.Key, Revision: 2})
	if len(d.bodies.items) != count-1 || d.bodies.size >= size || d.bodies.order.Len() != count-1 {
		t.Errorf("the body stays: %d bytes of %d bodies, before %d", d.bodies.size, len(d.bodies.items), size)
	}
	web.Revision = 3
	d.Apply(web)
	web.Object["metadata"].(map[string]any)["uid"] = "another"
	web.Revision = 4
	d.Apply(web)
	if d.bodies.get(web.Key, hash()) == nil {
		t.Error("the body of the new object was dropped with the old one")
	}
	if d.Rest(); len(d.bodies.items) != 0 || d.bodies.size != 0 || d.bodies.order.Len() != 0 {
		t.Error("bodies stay while the center rests")
	}
}
