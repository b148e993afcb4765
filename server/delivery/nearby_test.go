package delivery

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// TestAnyPlacementFindsItsObjects writes random Placements, objects, stamps and records, and compares what
// the indexes say with a walk over the space.
func TestAnyPlacementFindsItsObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, d: still(), stored: map[store.Key]store.Write{}, revision: 1}
		defer stop(h.d)
		h.d.Reset(1, storetest.Listing(maps.Values(h.stored)))
		for _, name := range []string{"a", "b"} {
			h.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget",
				map[string]any{"name": name, "uid": name}))
		}
		h.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{}))
		h.put(nsKey("app"), obj("v1", "Namespace", note("app", "", "")))
		for range rapid.IntRange(1, 30).Draw(t, "writes") {
			h.writeNearby()
			h.nearby()
		}
	})
}

// writeNearby makes one random write of what the indexes depend on.
func (h *history) writeNearby() {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(h.t, label) }
	name, tier := pick("name", "x", "y", "z"), pick("tier", "red", "blue")
	unit := pick("unit", "", "uid-app", "uid-p", "uid-q")
	switch pick("kind", "placement", "placement", "object", "object", "record", "gone") {
	case "placement":
		p := pick("placement", "p", "q", "r")
		clause := map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"tier": tier}}}
		h.put(catalog.PlacementKey("shop", p), obj("skerry.dev/v1alpha1", "Placement",
			map[string]any{"name": p, "uid": "uid-" + p, "generation": h.revision}, "spec", map[string]any{
				"objects": []any{clause}, "priority": int64(rapid.IntRange(0, 1).Draw(h.t, "priority")),
				"includeDependencies": pick("dependencies", "yes", "no") == "yes",
				"targets":             map[string]any{"names": []any{"a"}}}))
	case "object":
		labels := map[string]any{"tier": tier}
		if pick("wish", "", "", "b") != "" {
			labels[v1alpha1.LabelTarget] = "b"
		}
		k, o := key("apps", "deployments", name), workloadOf(note(name, unit, ""), pick("names", "x", "y", ""))
		if pick("what", "workload", "secret") == "secret" {
			k, o = key("", "secrets", name), obj("v1", "Secret", note(name, unit, ""))
			o["metadata"].(map[string]any)["uid"] = "uid-secret-" + name
		}
		o["metadata"].(map[string]any)["labels"] = labels
		h.put(k, o)
	case "record":
		record, of := pick("record", "", "a", "b", "a,b"), pick("of", "uid-app", "uid-p", "uid-q", "cohort")
		if of != "cohort" {
			h.bind(of, record)
			return
		}
		h.cut(pick("to", "uid-app", "uid-p", "uid-q"), record, "uid-"+name, pick("arrived", "yes", "no") == "yes")
	case "gone":
		h.put([]store.Key{catalog.PlacementKey("shop", pick("placement", "p", "q", "r")), key("apps", "deployments", name),
			key("", "secrets", name)}[rapid.IntRange(0, 2).Draw(h.t, "which")], nil)
	}
}

// nearby compares what the indexes say with a walk.
func (h *history) nearby() {
	d := h.d
	d.catalog.Lock()
	defer d.catalog.Unlock()
	sp := d.catalog.Spaces["shop"]
	keys := func(all map[*catalog.Object]struct{}) (out []string) {
		for o := range all {
			out = append(out, o.Kind.Resource+"/"+o.Name)
		}
		slices.Sort(out)
		return out
	}
	var groups []*catalog.Group
	for _, n := range sp.Namespaces {
		groups = append(groups, &n.Group)
	}
	for _, b := range sp.Placements {
		groups = append(groups, &b.Group)
	}
	for _, g := range groups {
		walk, found := map[*catalog.Object]struct{}{}, map[*catalog.Object]struct{}{}
		sp.EachObject(func(o *catalog.Object) {
			if o.Present && (o.Source == g || d.catalog.Records.Of(o) == (binding.Ref{Unit: g.ID()})) {
				walk[o] = struct{}{}
			}
		})
		d.catalog.Each(g, func(o *catalog.Object) {
			if _, twice := found[o]; twice {
				h.t.Fatalf("%s is visited twice for %s", o.Name, g.Ref())
			}
			found[o] = struct{}{}
		})
		for o := range walk {
			if _, is := found[o]; !is && (o.Namespace.Name != "" || g.Kind == catalog.OfPlacement) {
				h.t.Fatalf("%s: a walk finds %v, the indexes %v", g.Ref(), keys(walk), keys(found))
			}
		}
	}
	sp.EachObject(func(o *catalog.Object) {
		if !o.Present {
			return
		}
		if is, losers := d.catalog.SourceOf(o); is != o.Source || !slices.Equal(losers, sp.Overlaps[o]) {
			h.t.Fatalf("%s is for another wish, or other Placements have lost it", o.Key())
		}
		for _, b := range sp.Overlaps[o] {
			if _, is := b.Lost[o]; !is {
				h.t.Fatalf("%s does not know that it has lost %s", b.Name, o.Key())
			}
		}
	})
	for _, b := range sp.Placements {
		for o := range b.Lost {
			if !o.Present || !slices.Contains(sp.Overlaps[o], b) {
				h.t.Fatalf("%s believes that it has lost %s", b.Name, o.Key())
			}
		}
	}
}
