package delivery

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// TestAnyHistoryEndsAsItsSnapshotBegins applies random writes and compares the feeds with those
// that a new catalog makes of what is stored then. It is what a restart of the center relies on.
func TestAnyHistoryEndsAsItsSnapshotBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, d: still(), stored: map[store.Key]store.Write{}, revision: 1}
		defer stop(h.d)
		h.d.Reset(1, storetest.Listing(maps.Values(h.stored)))
		h.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{}))
		for range rapid.IntRange(1, 40).Draw(t, "writes") {
			h.write()
		}
		again := still()
		defer stop(again)
		again.Reset(h.revision, storetest.Listing(maps.Values(h.stored)))
		for _, name := range []string{"a", "b"} {
			x, y := live(h.d.Feed(name)), live(again.Feed(name))
			if !maps.Equal(x, y) {
				for k, w := range h.stored {
					if o := h.d.catalog.Find(k); o != nil {
						t.Logf("%s: %s: on %s, %+v; again %s", k, o.UID, o.On.Record(), h.d.catalog.Records.Of(o), again.catalog.Find(k).On.Record())
					} else {
						t.Logf("%s: %v", k, w.Object)
					}
				}
				t.Fatalf("feed of %s:\nafter the history %v\nafter a restart  %v", name, x, y)
			}
		}
		h.d.catalog.RLock()
		defer h.d.catalog.RUnlock()
		for _, s := range h.d.catalog.Spaces {
			for _, n := range s.Here {
				if n < 0 {
					t.Fatal("counted below nothing")
				}
			}
		}
	})
}

type history struct {
	t        *rapid.T
	d        *Delivery
	stored   map[store.Key]store.Write
	revision int64
	targets  scheduler.Targets
}

func (h *history) put(k store.Key, o map[string]any) {
	h.revision++
	w := store.Write{Key: k, Revision: h.revision, Object: o}
	if o == nil {
		delete(h.stored, k)
	} else {
		w.APIVersion, w.Kind = o["apiVersion"].(string), o["kind"].(string)
		h.stored[k] = w
	}
	h.d.Apply(w)
}

// write makes one random write.
func (h *history) write() {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(h.t, label) }
	name := pick("name", "x", "y")
	record := pick("record", "", "a", "b", "a,b", "b,a")
	var k store.Key
	var o map[string]any
	switch pick(
		"kind",
		"target",
		"namespace",
		"configmap",
		"secret",
		"deployment",
		"account",
		"pinned",
		"class",
		"crd",
		"placement",
		"many",
		"binding",
		"cohort",
		"hook",
	) {
	case "binding":
		h.bind(pick("unit", "uid-app", "uid-class-x", "uid-class-y", "p", "uid-pinned-x", "uid-hook-x"), record)
		return
	case "cohort":
		member := pick("member", "uid-x", "uid-y", "uid-pinned-x", "uid-class-x")
		to := "p" // what is in no namespace passes to none
		if member != "uid-class-x" {
			to = pick("to", "uid-app", "p")
		}
		h.cut(to, record, member, false)
		return
	case "target":
		k = rootKey("synctargets", pick("target", "a", "b"))
		o = obj("skerry.dev/v1alpha1", "SyncTarget", map[string]any{"name": k.Name, "uid": fmt.Sprint(h.revision)})
	case "namespace":
		k, o = nsKey("app"), obj("v1", "Namespace", note("app", "", ""))
	case "configmap":
		k = key("", "configmaps", name)
		o = obj("v1", "ConfigMap", note(name, "", ""), "data", map[string]any{"v": pick("data", "1", "2")})
	case "secret":
		k, o = key("", "secrets", name), obj("v1", "Secret", note(name, "", ""))
	case "account":
		k, o = key("", "serviceaccounts", name), obj("v1", "ServiceAccount", note(name, "", ""))
	case "deployment":
		k, o = key("apps", "deployments", name), workloadOf(note(name, "", ""), pick("names", "x", "y", ""))
	case "pinned":
		k = key("apps", "deployments", "pinned-"+name)
		o = workloadOf(note(k.Name, v1alpha1.UnitSelf, "a"), pick("names", "x", "y", ""))
	case "class":
		k = class(name)
		o = obj("storage.k8s.io/v1", "StorageClass", note(k.Name, v1alpha1.UnitSelf, ""))
	case "crd":
		k = store.Key{
			Space:    "shop",
			Group:    "apiextensions.k8s.io",
			Resource: "customresourcedefinitions",
			Name:     name + ".example.org",
		}
		o = obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", note(k.Name, "", ""))
	case "placement":
		if slices.ContainsFunc(
			slices.Collect(maps.Keys(h.stored)),
			func(k store.Key) bool { return k.Resource == "jobs" && !strings.HasPrefix(k.Name, "hook-") },
		) {
			return // they would be rendered again, by a goroutine that does not run here
		}
		k = catalog.PlacementKey("shop", "jobs")
		m := meta("jobs")
		m["generation"], m["uid"] = 1, "p"
		o = obj(
			"skerry.dev/v1alpha1",
			"Placement",
			m,
			"spec",
			map[string]any{"objects": []any{map[string]any{"resources": []any{"jobs"}}},
				"targets": map[string]any{
					"selectors": []any{map[string]any{}},
				}},
		)
	case "hook": // no Placement decides about it
		k = key("batch", "jobs", "hook-"+name)
		o = obj("batch/v1", "Job", note(k.Name, v1alpha1.UnitSelf, ""))
		fields.Map(o, "metadata", "annotations")[v1alpha1.AnnotationHook] = catalog.Attempt{
			Of: binding.Ref{Unit: "p"}, UID: "1", Target: "a", Began: 1, Since: 1}.Mark()
	case "many":
		k, o = key("batch", "jobs", name), obj("batch/v1", "Job", note(name, "", ""))
		if _, ok := h.stored[catalog.PlacementKey("shop", "jobs")]; !ok {
			return
		}
	}
	if pick("what", "put", "put", "delete") == "delete" {
		o = nil
	}
	if o != nil && k.Space == "shop" && k.Resource != "placements" && pick("made anew", "no", "no", "yes") == "yes" {
		o["metadata"].(map[string]any)["uid"] = fmt.Sprint("uid-", h.revision)
	}
	h.put(k, o)
}

func class(name string) store.Key {
	return store.Key{Space: "shop", Group: "storage.k8s.io", Resource: "storageclasses", Name: "class-" + name}
}

var unitsOfTests = map[string]v1alpha1.BindingUnit{
	"uid-dx":  catalog.UnitOf(key("apps", "deployments", "x")),
	"uid-dy":  catalog.UnitOf(key("apps", "deployments", "y")),
	"uid-sx":  catalog.UnitOf(key("", "services", "x")),
	"uid-hx":  catalog.UnitOf(key("autoscaling", "horizontalpodautoscalers", "x")),
	"uid-px":  catalog.UnitOf(key("", "pods", "x")),
	"uid-nx":  catalog.UnitOf(key("networking.k8s.io", "networkpolicies", "x")),
	"uid-app": catalog.UnitOf(nsKey("app")), "p": catalog.UnitOf(catalog.PlacementKey("shop", "jobs")),
	"uid-p": catalog.UnitOf(catalog.PlacementKey("shop", "p")), "uid-q": catalog.UnitOf(catalog.PlacementKey("shop", "q")),
	"uid-pinned-x": catalog.UnitOf(key("apps", "deployments", "pinned-x")), "uid-hook-x": catalog.UnitOf(key("batch", "jobs", "hook-x")),
	"uid-class-x": catalog.UnitOf(class("x")), "uid-class-y": catalog.UnitOf(class("y")),
}

// bind stores a Binding, or deletes it.
func (h *history) bind(id, record string) {
	k := scheduler.BindingKey("shop", binding.UnitID(id))
	if record == "" {
		h.put(k, nil)
		return
	}
	of := unitsOfTests[id]
	h.store(k, scheduler.Record{Unit: of, Binding: &binding.Binding{Unit: binding.UnitID(id), Record: h.places(record)}})
}

// cut stores a cohort, or deletes it.
func (h *history) cut(to, record, member string, arrived bool) {
	seq := map[string]uint64{"uid-x": 1, "uid-y": 2, "uid-pinned-x": 3, "uid-class-x": 4, "uid-z": 5}[member] // its members never change
	k := scheduler.CohortKey("shop", seq)
	if record == "" {
		h.put(k, nil)
		return
	}
	c := binding.Cohort{Seq: seq, To: binding.UnitID(to), Arrived: arrived, Members: []binding.ObjectID{binding.ObjectID(member)},
		Record: h.places(record)}
	h.store(k, scheduler.Record{Unit: unitsOfTests[to], Cohort: &c})
}

func (h *history) places(record string) (r binding.Record) {
	for _, name := range placement.Split(record) {
		uid := fields.Clone(h.stored[rootKey("synctargets", name)].Object, "metadata", "uid")
		r.Places = append(r.Places, binding.Place{Target: h.targets.ID(uid+"-of-"+name, name)})
		if uid != "" {
			r.Places[len(r.Places)-1].Target = h.targets.ID(uid, name)
		}
	}
	return r
}

func (h *history) store(k store.Key, r scheduler.Record) {
	value, err := r.Encode(&h.targets)
	if err != nil {
		h.t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(value, &o); err != nil {
		h.t.Fatal(err)
	}
	h.put(k, o)
}

func note(name, unit, wish string) map[string]any {
	m := map[string]any{"name": name, "namespace": "app", "uid": "uid-" + name}
	if unit == "" {
		unit = "uid-app"
	}
	m["annotations"] = map[string]any{v1alpha1.AnnotationUnit: unit}
	if wish != "" {
		m["labels"] = map[string]any{v1alpha1.LabelTarget: wish}
	}
	return m
}

func workloadOf(m map[string]any, names string) map[string]any {
	pod := map[string]any{}
	if names != "" {
		pod = map[string]any{"serviceAccountName": names, "volumes": []any{
			map[string]any{
				"configMap": map[string]any{"name": names},
			}, map[string]any{"secret": map[string]any{"secretName": names}}}}
	}
	return obj("apps/v1", "Deployment", m, "spec", map[string]any{"template": map[string]any{"spec": pod}})
}

// still is a catalog whose decision writer does not run.
func still(with ...func(*Config)) *Delivery {
	cfg := Config{
		Config: desired.Config{
			Progress: func(string, store.Key) (placement.Progress, bool) { return placement.Progress{}, false },
			Event:    func(placement.Event) {},
			Refuse:   func(store.Key, *store.ReportError) {},
			Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		},
		Condition: func(store.Key, placement.Condition) {},
	}
	for _, change := range with {
		change(&cfg)
	}
	return New(cfg)
}

func stop(d *Delivery) {
	d.catalog.Groups.ShutDown()
	d.catalog.Notes.ShutDown()
	d.views.queue.ShutDown()
	d.catalog.Renders.ShutDown()
	d.catalog.Says.ShutDown()
	d.catalog.Rolls.ShutDown()
	d.catalog.Status.ShutDown()
	d.catalog.HookJobs.ShutDown()
}

func live(f *store.Feed) map[store.Key]store.Hash {
	out := map[store.Key]store.Hash{}
	if f == nil {
		return out
	}
	for _, e := range f.Since(0, 0) {
		if !e.Tombstone {
			out[e.Key] = e.Hash
		}
	}
	return out
}
