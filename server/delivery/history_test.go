package delivery

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
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
				t.Fatalf("feed of %s:\nafter the history %v\nafter a restart  %v", name, x, y)
			}
		}
		h.d.mu.RLock()
		defer h.d.mu.RUnlock()
		for _, s := range h.d.spaces {
			for _, n := range s.here {
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

// write makes one random write. Who decides about an object never changes while it exists: that is
// what holds are for, and they depend on what was before.
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
	) {
	case "target":
		k = rootKey("synctargets", pick("target", "a", "b"))
		o = obj("skerry.dev/v1alpha1", "SyncTarget", map[string]any{"name": k.Name, "uid": fmt.Sprint(h.revision)})
	case "namespace":
		k, o = nsKey("app"), obj("v1", "Namespace", note("app", record, ""))
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
		o = workloadOf(note(k.Name, record, "a"), pick("names", "x", "y", ""))
	case "class":
		k = store.Key{Space: "shop", Group: "storage.k8s.io", Resource: "storageclasses", Name: name}
		o = obj("storage.k8s.io/v1", "StorageClass", note(name, record, ""))
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
			func(k store.Key) bool { return k.Resource == "jobs" },
		) {
			return
		}
		k = placementKey("shop", "jobs")
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
			"status",
			map[string]any{"decision": decisionOf(record)},
		)
	case "many":
		k, o = key("batch", "jobs", name), obj("batch/v1", "Job", note(name, "", ""))
		if _, ok := h.stored[placementKey("shop", "jobs")]; !ok {
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

func note(name, targets, wish string) map[string]any {
	m := map[string]any{"name": name, "namespace": "app", "uid": "uid-" + name}
	if targets != "" {
		m["annotations"] = map[string]any{v1alpha1.AnnotationTargets: targets}
	}
	if wish != "" {
		m["labels"] = map[string]any{v1alpha1.LabelTarget: wish}
	}
	return m
}

func decisionOf(record string) []any {
	var out []any
	for _, n := range placement.Split(record) {
		out = append(out, n)
	}
	return out
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
func still() *Delivery {
	return New(
		Config{Progress: func(string, store.Key) (placement.Progress, bool) { return placement.Progress{}, false },
			Condition: func(
				store.Key,
				placement.Condition,
			) {
			}, Event: func(placement.Event) {}, Refuse: func(store.Key, *store.ReportError) {},
			Log: slog.New(slog.NewTextHandler(io.Discard, nil))},
	)
}

func stop(d *Delivery) {
	d.groups.ShutDown()
	d.notes.ShutDown()
	d.renders.ShutDown()
	d.says.ShutDown()
	d.status.ShutDown()
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
