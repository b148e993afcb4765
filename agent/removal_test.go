package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// with returns the entry with the annotation skerry.dev/sync.
func with(e store.Entry, sync string) store.Entry {
	var o map[string]any
	if err := json.Unmarshal(e.Body, &o); err != nil {
		panic(err)
	}
	o["metadata"].(map[string]any)["annotations"].(map[string]any)[target.AnnotationSync] = sync
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	e.Body, e.Hash = body, store.HashBody(e.Generation, body)
	return e
}

// removed is a tombstone that removes in a certain way.
func removed(e store.Entry, how store.Removal) store.Entry {
	return store.Entry{Key: e.Key, Tombstone: true, Removal: how}
}

func metadata(o map[string]any) map[string]any { return o["metadata"].(map[string]any) }

func TestOrphanStaysWithoutATrace(t *testing.T) { inBubble(t, orphanStaysWithoutATrace) }

func orphanStaysWithoutATrace(t *testing.T) {
	s := newSite(t)
	d := deployment(1, "app", "web", 3)
	s.desire(namespace("app"), d, with(configMap("app", "c", "1"), `{"retainFields":["/data/x"]}`))
	s.settled()
	s.api.PutAs("kubectl", "", "apps/v1", "Deployment", "app", "web", map[string]any{
		"metadata": map[string]any{
			"annotations": map[string]any{"skerry.dev/theirs": "x"},
		}, "spec": map[string]any{"paused": true}})
	before := s.api.Object("apps", "deployments", "app", "web")
	s.desire(
		removed(d, store.RemoveOrphan),
		removed(configMap("app", "c", "1"), store.RemoveOrphan),
		removed(namespace("app"), store.RemoveOrphan),
	)
	s.settled()
	web := s.api.Object("apps", "deployments", "app", "web")
	if web == nil || metadata(web)["uid"] != metadata(before)["uid"] || dump(web["spec"]) != dump(before["spec"]) {
		t.Errorf("before %v, after %v", before, web)
	}
	for name, o := range map[string]map[string]any{
		"deployment": web, "config map": s.api.Object("", "configmaps", "app", "c"),
		"namespace": s.api.Object("", "namespaces", "", "app"),
	} {
		if text := dump(o); o == nil || strings.Contains(text, "skerry.dev/origin") ||
			strings.Contains(text, "skerry.dev/sync") ||
			strings.Contains(text, "manager:skerry") {
			t.Errorf("the %s still has something of us: %s", name, text)
		}
	}
	if a := metadata(web)["annotations"].(map[string]any); a["skerry.dev/theirs"] != "x" {
		t.Errorf("somebody else's annotation is gone: %v", a)
	}
	if n := s.observer.Feed().Len(); n != 0 {
		t.Errorf("%d reports of what is not ours any more", n)
	}
	changes := s.api.Changes()
	s.restart(true)
	s.settled()
	if s.api.Changes() != changes || !s.exists(d) {
		t.Error("a restart touched what was left")
	}
}

// An object that leaves and comes back before the target is rid of it was taken away by nobody: it
// is made anew at once, however often, and also where what others delete stays away.
func TestComesBackWhileItIsGoing(t *testing.T) {
	for _, policy := range []string{"Restore", "Report"} {
		t.Run(policy, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				c := with(configMap("default", "c", "1"), `{"whenDrifted":"`+policy+`"}`)
				s.desire(c)
				s.settled()
				<-s.observer.Ready()
				for range contestedRounds {
					uid := s.api.PutAs(
						"holder",
						"",
						"v1",
						"ConfigMap",
						"default",
						"c",
						map[string]any{"metadata": map[string]any{"finalizers": []any{"example.com/hold"}}},
					)
					s.desire(gone(c))
					eventually(t, "it is going", func() bool {
						return metadata(s.api.Object("", "configmaps", "default", "c"))["deletionTimestamp"] != nil
					})
					s.desire(c)
					s.api.Remove("", "configmaps", "default", "c") // the finalizer is taken off
					eventually(t, "it is back", func() bool {
						o := s.api.Object("", "configmaps", "default", "c")
						return o != nil && metadata(o)["uid"] != uid
					})
					eventually(t, "it is as desired", func() bool {
						r := s.report(c.Key)
						if r != nil && r.Error != nil && r.Error.Reason == "Contested" {
							t.Fatal("it is told that somebody deletes it")
						}
						return s.applier.Pending() == 0 && s.observer.Waiting() == 0
					})
					s.healthy(c)
				}
			})
		})
	}
}

// contestedRounds is how often it takes to be called contested, and once more.
const contestedRounds = 4

// What nobody has changed since it was written is deleted in one request. What somebody has changed
// is read first, and stays when it is another's now.
func TestRemovalInOneRequest(t *testing.T) { inBubble(t, removalInOneRequest) }

func removalInOneRequest(t *testing.T) {
	s := newSite(t)
	same, changed, taken, web := configMap(
		"default",
		"same",
		"1",
	), configMap(
		"default",
		"changed",
		"1",
	), configMap(
		"default",
		"taken",
		"1",
	), deployment(
		1,
		"default",
		"web",
		1,
	)
	s.desire(same, with(changed, `{"whenDrifted":"Report"}`), with(taken, `{"whenDrifted":"Report"}`), web)
	s.settled()
	<-s.observer.Ready()
	s.api.PutAs("kubectl", "", "v1", "ConfigMap", "default", "changed", data(map[string]any{"value": "theirs"}))
	s.api.PutAs(
		"kubectl",
		"",
		"v1",
		"ConfigMap",
		"default",
		"taken",
		map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{target.AnnotationOrigin: "elsewhere/p"}},
		},
	)
	s.reported(changed, "Drifted")
	s.reported(taken, "Drifted")
	s.settled()
	for _, c := range []struct {
		entry store.Entry
		reads int
		stays bool
	}{{same, 0, false}, {changed, 1, false}, {taken, 1, true}, {web, 1, false}} {
		before := s.api.Reads()
		s.desire(gone(c.entry))
		s.settled()
		if s.exists(c.entry) != c.stays || s.api.Reads()-before != c.reads {
			t.Errorf(
				"%s: it was read %d times, and exists: %v",
				c.entry.Key.Name,
				s.api.Reads()-before,
				s.exists(c.entry),
			)
		}
	}
}

func TestDependentsAreKeptOrGo(t *testing.T) { inBubble(t, dependentsAreKeptOrGo) }

func dependentsAreKeptOrGo(t *testing.T) {
	s := newSite(t)
	keep, drop := deployment(1, "default", "keep", 1), deployment(1, "default", "drop", 1)
	s.desire(keep, drop)
	s.settled()
	for _, name := range []string{"keep", "drop"} {
		s.api.Put("apps/v1", "ReplicaSet", "default", name+"-1", owned(s.uid("apps", "deployments", "default", name)))
	}
	s.desire(removed(keep, store.RemoveKeepDependents), gone(drop))
	s.settled()
	if s.exists(keep) || s.exists(drop) {
		t.Error("a deployment was not deleted")
	}
	kept := s.api.Object("apps", "replicasets", "default", "keep-1")
	if kept == nil || metadata(kept)["ownerReferences"] != nil ||
		s.api.Object("apps", "replicasets", "default", "drop-1") != nil {
		t.Errorf("kept %v, dropped %v", kept, s.api.Object("apps", "replicasets", "default", "drop-1"))
	}
	for _, w := range s.api.Writes() {
		if w.Method == "DELETE" && (w.Policy == "Orphan") != strings.HasSuffix(w.Path, "/keep") {
			t.Errorf("%s was deleted with policy %s", w.Path, w.Policy)
		}
	}
}

// Where the parent does not know any more why a key is gone, the object's own policy says what
// becomes of it, and doubt deletes nothing. When the agent has lost its copy, too, the object on
// the target tells its policy.
func TestRemovalByPolicy(t *testing.T) {
	t.Run("known", func(t *testing.T) { removalByPolicy(t, func(*site, []store.Entry) {}) })
	t.Run("lost", func(t *testing.T) {
		removalByPolicy(t, func(s *site, entries []store.Entry) {
			records := map[store.Key]inventory.Record{}
			var keys []store.Key
			for _, e := range entries {
				records[e.Key], _ = s.inventory.Get(e.Key)
				keys = append(keys, e.Key)
			}
			s.stop()
			s.start(s.t.TempDir())
			for k, r := range records {
				s.inventory.Put(k, r)
			}
			if _, err := s.desired.AddUnknown(keys...); err != nil {
				s.t.Fatal(err)
			}
		})
	})
}

func removalByPolicy(t *testing.T, between func(*site, []store.Entry)) {
	s := newSite(t)
	cases := map[string]bool{
		"":                                  false,
		`{"whenPlacementDeleted":"Clean"}`:  false,
		`{"whenPlacementDeleted":"Orphan"}`: true,
		`{"whenPlacementDeleted":"SomethingNewer"}`: true,
	}
	var entries, tombstones []store.Entry
	stays := map[string]bool{}
	for sync, stay := range cases {
		e := configMap("default", "c"+string(rune('a'+len(entries))), "1")
		if sync != "" {
			e = with(e, sync)
		}
		stays[e.Key.Name] = stay
		entries, tombstones = append(entries, e), append(tombstones, removed(e, store.RemoveByPolicy))
	}
	s.desire(entries...)
	s.settled()
	between(s, entries)
	s.desire(tombstones...)
	s.settled()
	for _, e := range entries {
		if s.exists(e) != stays[e.Key.Name] {
			t.Errorf("%s: exists is %v", e.Body, s.exists(e))
		}
	}
}

// A crash between the write and its record, and then a tombstone while the record is missing: what
// is ours goes, and only that.
func TestTombstoneOfAnUnrecordedObject(t *testing.T) { inBubble(t, tombstoneOfAnUnrecordedObject) }

func tombstoneOfAnUnrecordedObject(t *testing.T) {
	s := newSite(t)
	ours, theirs, other := configMap(
		"default",
		"ours",
		"1",
	), configMap(
		"default",
		"theirs",
		"1",
	), configMap(
		"default",
		"other",
		"1",
	)
	s.desire(ours, theirs, other)
	s.settled()
	for _, e := range []store.Entry{ours, theirs, other} {
		s.inventory.Delete(e.Key)
	}
	s.api.Put(
		"v1",
		"ConfigMap",
		"default",
		"theirs",
		map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{target.AnnotationOriginUID: "another"}},
		},
	)
	s.api.Put(
		"v1",
		"ConfigMap",
		"default",
		"other",
		map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{target.AnnotationOrigin: "elsewhere/p"}},
		},
	)
	s.desire(gone(ours), gone(theirs), gone(other))
	s.settled()
	if s.exists(ours) || !s.exists(theirs) || !s.exists(other) {
		t.Errorf("ours %v, theirs %v, of another space %v", s.exists(ours), s.exists(theirs), s.exists(other))
	}
}

// A Namespace that is being deleted waits for what is in it: the object that holds it, and the
// finalizer, are named.
func TestWhatHoldsANamespaceIsNamed(t *testing.T) { inBubble(t, whatHoldsANamespaceIsNamed) }

func whatHoldsANamespaceIsNamed(t *testing.T) {
	s := newSite(t)
	ns := namespace("app")
	s.desire(ns)
	s.settled()
	s.api.Put(
		"v1",
		"Namespace",
		"",
		"app",
		map[string]any{
			"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"kubernetes"}},
		},
	)
	s.api.Put(
		"v1",
		"PersistentVolumeClaim",
		"app",
		"data",
		map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z",
			"finalizers": []any{"storage.example.com/snapshot"}}},
	)
	s.desire(gone(ns))
	eventually(t, "the object and its finalizer are named", func() bool {
		r := s.report(ns.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "WaitingForFinalizers" &&
			strings.Contains(r.Error.Message, "persistentvolumeclaims/data: storage.example.com/snapshot")
	})
}

func TestFinalizersAreAwaitedAndNamed(t *testing.T) { inBubble(t, finalizersAreAwaitedAndNamed) }

func finalizersAreAwaitedAndNamed(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "1")
	s.desire(c)
	s.settled()
	s.api.Put(
		"v1",
		"ConfigMap",
		"default",
		"c",
		map[string]any{"metadata": map[string]any{"finalizers": []any{"example.com/slow"}}},
	)
	s.desire(gone(c))
	eventually(t, "the finalizer is named", func() bool {
		r := s.report(c.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "WaitingForFinalizers" &&
			strings.Contains(r.Error.Message, "example.com/slow")
	})
	if o := s.api.Object("", "configmaps", "default", "c"); len(metadata(o)["finalizers"].([]any)) != 1 {
		t.Errorf("the finalizer was taken off: %v", o)
	}
	deletions := 0
	for _, w := range s.api.Writes() {
		if w.Method == "DELETE" {
			deletions++
		}
	}
	if deletions != 1 {
		t.Errorf("deletion was asked for %d times", deletions)
	}
	s.api.Remove("", "configmaps", "default", "c")
	s.settled()
	if r := s.report(c.Key); r != nil {
		t.Errorf("still reported: %s", dump(r))
	}
}
