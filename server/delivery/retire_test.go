package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// What a release does without is gone from a target with the release, and not before.
func TestADeletionIsPartOfARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.put(f.config, nil)
		f.phase("RollingOut")
		f.eventually("it is gone from a", func() bool { return !f.has("a", f.config) })
		if !f.has("b", f.config) || !f.has("c", f.config) {
			t.Error("it is gone from targets that do not have the release")
		}
		f.stop()
		f.restartQuick()
		if !f.has("b", f.config) || f.has("a", f.config) {
			t.Errorf("after a restart: a %v, b %v", f.has("a", f.config), f.has("b", f.config))
		}
		if body, _, err := f.d.Feed("b").Body(t.Context(), f.config); err != nil || !strings.Contains(string(body), `"k":"v"`) {
			t.Errorf("%s, %v", body, err)
		}
		f.rollout(map[string]any{"undo": map[string]any{"release": 2}})
		f.eventually("it is back on a", func() bool { return f.has("a", f.config) })
		f.rollout(nil)
		for _, name := range []string{"a", "b", "c"} {
			f.eventually("it is gone from "+name, func() bool { return !f.has(name, f.config) })
			f.progressGone(name, f.config)
			f.well(name, nil)
		}
		f.phase("Complete")
		f.eventually("nothing is left of it", func() bool {
			f.d.catalog.RLock()
			defer f.d.catalog.RUnlock()
			return f.d.catalog.Find(f.config) == nil
		})
	})
}

func (f *fleet) progressGone(target string, k store.Key) {
	f.reports.Lock()
	delete(f.progress[target], k)
	f.reports.Unlock()
	f.d.Reported(target, []store.Key{f.web})
}

// With a Namespace everything in it goes from all targets at once, also what only an older release has.
func TestADeletedNamespaceEndsItsReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.put(f.config, nil)
		f.eventually("it is gone from a", func() bool { return !f.has("a", f.config) })
		if !f.has("b", f.config) {
			t.Fatal("it is gone from b")
		}
		f.change(nsKey("app"), map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"})
		if f.has("b", f.config) || f.has("c", f.config) {
			t.Error("it is kept in a Namespace that is being deleted")
		}
		f.put(f.web, nil)
		f.put(nsKey("app"), nil)
		for _, name := range []string{"a", "b", "c"} {
			if f.has(name, f.web) || f.has(name, nsKey("app")) {
				t.Errorf("%s has something left", name)
			}
		}
	})
}

// A deleted Placement leaves no record, and nothing of what was kept for its releases.
func TestADeletedPlacementEndsItsReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.put(f.config, nil)
		f.eventually("it is gone from a", func() bool { return !f.has("a", f.config) })
		f.put(f.placement, nil)
		for _, name := range []string{"b", "c"} {
			if f.has(name, f.config) {
				t.Errorf("%s keeps what is deleted", name)
			}
		}
		f.eventually("no record is left", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			for k := range f.objects {
				if _, _, is := scheduler.NamedRollout(k.Name); is && scheduler.IsRecord(k) {
					return false
				}
			}
			return true
		})
	})
}

// What ran under another decision before it comes to a Placement with releases does not leave the targets
// that it is on, and does not wait for a release to be proven.
func TestWhatJoinsAPlacementStaysWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		k := store.Key{Space: "shop", Resource: "configmaps", Namespace: "other", Name: "late"}
		f.namespace("other", map[string]any{"skerry.dev/target": "b"})
		m := meta("late")
		m["namespace"] = "other"
		f.put(k, obj("v1", "ConfigMap", m, "data", map[string]any{"k": "1"}))
		f.eventually("it is on b", func() bool { return f.has("b", k) })
		f.mu.Lock()
		f.confirm = func(target string, revision int64) { f.d.Confirmed(target, revision) }
		f.mu.Unlock()
		f.selects("app", "other")
		f.eventually("a has it by the new release", func() bool {
			if !f.has("b", k) {
				t.Fatal("it left b")
			}
			f.report("b", k, nil)
			return f.has("a", k)
		})
	})
}

// selects has the Placement select everything in namespaces.
func (f *fleet) selects(namespaces ...any) {
	f.mu.Lock()
	o := cloneOf(f.objects[f.placement])
	f.mu.Unlock()
	o["metadata"].(map[string]any)["generation"] = f.generation
	f.generation++
	o["spec"].(map[string]any)["objects"] = []any{map[string]any{"namespaces": namespaces}}
	f.put(f.placement, o)
}

// What is new comes with the release that has it, and what it was made for.
func TestANewObjectIsPartOfARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		k := f.configMap("new")
		f.eventually("a has it", func() bool { return f.has("a", k) })
		time.Sleep(time.Minute)
		if synctest.Wait(); f.has("b", k) || f.has("c", k) {
			t.Fatal("it came to a target that does not have the release")
		}
		f.well("a", nil)
		f.eventually("b has it", func() bool { return f.has("b", k) })
		if f.has("c", k) {
			t.Error("it came to c before b was done")
		}
	})
}
