package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// fleet is a center with a Placement whose releases go to a first, then to b and c.
type fleet struct {
	*center
	web, config, placement store.Key
	generation             int64
	version                int64
	targets                map[string]any // more of spec.targets
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{center: newCenter(t), generation: 1}
	f.run()
	f.space("shop")
	for name, ring := range map[string]string{"a": "first", "b": "rest", "c": "rest"} {
		f.target(name, map[string]any{"ring": ring, "all": "yes"})
	}
	f.rollout(nil)
	f.namespace("app", nil)
	f.config = f.configMap("config")
	f.apply("1")
	for _, name := range []string{"a", "b", "c"} {
		f.gets(name, "1")
	}
	f.released(1)
	return f
}

// rollout writes the Placement, with more in its rollout.
func (f *fleet) rollout(more map[string]any) {
	is := map[string]any{"type": "Progressive", "groupBy": "ring", "groups": []any{"first"}, "maxConcurrency": 1}
	maps.Copy(is, more)
	f.place(is)
}

func (f *fleet) place(rollout map[string]any) {
	f.placement = placementOf("all")
	m := meta("all")
	m["generation"] = f.generation
	f.generation++
	f.mu.Lock()
	status := f.objects[f.placement]["status"]
	f.mu.Unlock()
	targets := map[string]any{"selectors": []any{map[string]any{"matchLabels": map[string]any{"all": "yes"}}}}
	maps.Copy(targets, f.targets)
	o := obj("skerry.dev/v1alpha1", "Placement", m, "spec", map[string]any{
		"objects": []any{map[string]any{"namespaces": []any{"app"}}}, "targets": targets, "rollout": rollout})
	if status != nil {
		o["status"] = status
	}
	f.put(f.placement, o)
}

// apply changes the image of the Deployment.
func (f *fleet) apply(image string) {
	f.web = key("apps", "deployments", "web")
	f.version++
	m := meta("web")
	m["namespace"], m["generation"] = "app", f.version
	f.mu.Lock()
	if was := f.objects[f.web]; was != nil {
		m["annotations"] = fields.Map(was, "metadata", "annotations")
	}
	f.mu.Unlock()
	f.put(f.web, obj("apps/v1", "Deployment", m, "spec", map[string]any{"replicas": 3, "template": map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}, "volumes": []any{
			map[string]any{"name": "c", "configMap": map[string]any{"name": "config"}}}}}}))
}

// sent is the image that a target is sent, empty for none. The body must be that of the feed's hash.
func (f *fleet) sent(target string) string {
	f.t.Helper()
	feed := f.d.Feed(target)
	e, ok := feed.Get(f.web)
	if !ok || e.Tombstone {
		return ""
	}
	body, generation, err := feed.Body(f.t.Context(), f.web)
	if err != nil || store.HashBody(generation, body) != e.Hash {
		if now, _ := feed.Get(f.web); now.Hash == e.Hash {
			f.t.Errorf("%s has the hash of another body (%v)", target, err)
		}
		return "?"
	}
	var o map[string]any
	if err := json.Unmarshal(body, &o); err != nil {
		f.t.Fatal(err)
	}
	for c := range fields.Maps(o, "spec", "template", "spec", "containers") {
		return c["image"].(string)
	}
	return ""
}

func (f *fleet) gets(target, image string) {
	f.t.Helper()
	f.eventually(target+" gets "+image, func() bool { return f.sent(target) == image })
}

// well has a target report everything that it is sent as applied and available, with a change for the
// Deployment.
func (f *fleet) well(target string, change func(*placement.Progress)) {
	f.t.Helper()
	for _, e := range f.d.Feed(target).All() {
		f.mu.Lock()
		o := f.objects[e.Key]
		f.mu.Unlock()
		if o == nil || e.Key.Class() == store.ClassNamespace {
			continue
		}
		if e.Key == f.web {
			f.report(target, e.Key, change)
		} else {
			f.report(target, e.Key, nil)
		}
	}
}

func bad(p *placement.Progress) { p.Ready = false }

// status is status.rollout of the Placement.
func (f *fleet) status() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fields.Map(f.objects[f.placement], "status", "rollout")
}

func (f *fleet) released(number int64) {
	f.t.Helper()
	defer func() {
		if f.t.Failed() {
			f.t.Log(f.status())
		}
	}()
	f.eventually(fmt.Sprint("release ", number), func() bool { return customize.Number(f.status()["release"]) == number })
}

func (f *fleet) phase(phase string) {
	f.t.Helper()
	last := ""
	defer func() {
		if f.t.Failed() {
			f.t.Log(last)
		}
	}()
	f.eventually("phase "+phase, func() bool { last = fmt.Sprint(f.status()); return f.status()["phase"] == phase })
}

// keeps fails when a target is sent something else within half a minute.
func (f *fleet) keeps(image string, targets ...string) {
	f.t.Helper()
	for range 30 {
		synctest.Wait()
		for _, name := range targets {
			if is := f.sent(name); is != image {
				f.t.Fatalf("%s is sent %q instead of %q", name, is, image)
			}
		}
		time.Sleep(time.Second)
	}
}

func TestAReleaseGoesFromGroupToGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.apply("2")
		f.keeps("1", "b", "c")
		f.gets("a", "2")
		f.keeps("1", "b", "c")
		f.well("a", nil)
		f.gets("b", "2")
		f.keeps("1", "c")
		f.well("b", nil)
		f.gets("c", "2")
		f.well("c", nil)
		f.phase("Complete")
		if is := f.status(); customize.Number(is["proven"]) != 2 {
			t.Errorf("%v", is)
		}
	})
}

func TestABadReleaseStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.rollout(map[string]any{"progressDeadline": "1s"})
		f.apply("bad")
		f.gets("a", "bad")
		f.well("a", bad)
		f.phase("Failed")
		f.keeps("1", "b", "c")
		f.rollout(map[string]any{"progressDeadline": "1s", "undo": map[string]any{"release": 2}})
		f.gets("a", "1")
		f.phase("Undone")
		f.apply("3")
		f.gets("a", "3")
		f.keeps("1", "b", "c")
	})
}

func TestABadReleaseIsRolledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.rollout(map[string]any{"progressDeadline": "1s", "whenFailed": "Rollback"})
		f.apply("bad")
		f.gets("a", "bad")
		f.phase("RolledBack")
		f.gets("a", "1")
		f.keeps("1", "a", "b", "c")
	})
}

func TestAPausedReleaseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.rollout(map[string]any{"paused": true})
		f.apply("2")
		f.phase("Paused")
		f.keeps("1", "a", "b", "c")
		f.rollout(nil)
		f.gets("a", "2")
	})
}

// A center that restarts, and only knows what is stored, sends each target what it had.
func TestReleasesOutliveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.apply("2")
		f.gets("a", "2")
		f.apply("3")
		f.gets("a", "3") // what is not proven either is replaced first
		f.stop()
		f.apply("4")
		f.keeps("1", "b", "c")
		f.restartQuick()
		for target, image := range map[string]string{"a": "3", "b": "1", "c": "1"} {
			if is := f.sent(target); is != image {
				t.Errorf("%s is sent %q instead of %q: %v", target, is, image, f.status())
			}
		}
		f.released(4)
		f.gets("a", "4")
		f.keeps("1", "b", "c")
	})
}

// restartQuick is restart for one that is stopped.
func (f *fleet) restartQuick() {
	f.mu.Lock()
	f.d = f.newDelivery()
	f.mu.Unlock()
	f.run()
}

// Without releases everything is sent at once, and no record is left.
func TestReleasesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.apply("2")
		f.gets("a", "2")
		f.put(f.config, nil)
		f.place(map[string]any{"type": "All"})
		for _, name := range []string{"a", "b", "c"} {
			f.gets(name, "2")
			f.eventually("the deletion comes to "+name, func() bool { return !f.has(name, f.config) })
		}
		f.eventually("no record is left", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			for k := range f.objects {
				if _, _, is := scheduler.NamedRollout(k.Name); is && scheduler.IsRecord(k) {
					return false
				}
			}
			return f.objects[f.placement]["status"].(map[string]any)["rollout"] == nil
		})
	})
}

func cloneOf(o map[string]any) (out map[string]any) {
	b, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// No more than so many releases are kept.
func TestReleasesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		for i := 2; i <= 15; i++ {
			f.apply(fmt.Sprint(i))
			f.released(int64(i))
		}
		f.eventually("ten releases and the proven one", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			n := 0
			for k := range f.objects {
				if _, number, is := scheduler.NamedRollout(k.Name); is && number > 0 {
					n++
				}
			}
			return n == 11
		})
		f.keeps("1", "b", "c")
	})
}
