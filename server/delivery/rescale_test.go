package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
)

// A change of the number of replicas makes no release.
func TestReplicasMakeNoRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.scale(5)
		for _, name := range []string{"a", "b", "c"} {
			f.eventually("five on "+name, func() bool {
				body, _, err := f.d.Feed(name).Body(t.Context(), f.web)
				return err == nil && strings.Contains(string(body), `"replicas":5`)
			})
		}
		time.Sleep(time.Minute)
		if is := f.status(); customize.Number(is["release"]) != 1 {
			t.Errorf("%v", is)
		}
	})
}

// scale changes the replicas of the Deployment alone.
func (f *fleet) scale(n int) {
	f.mu.Lock()
	o := cloneOf(f.objects[f.web])
	f.mu.Unlock()
	o["spec"].(map[string]any)["replicas"] = n
	f.version++
	o["metadata"].(map[string]any)["generation"] = f.version
	f.put(f.web, o)
}

// replicas are what a target is sent: how many, and their shares. The body must be that of the feed's hash.
func (f *fleet) replicas(target string) (n int64, shares string) {
	f.t.Helper()
	f.sent(target)
	body, _, err := f.d.Feed(target).Body(f.t.Context(), f.web)
	var o map[string]any
	if err != nil || json.Unmarshal(body, &o) != nil {
		return 0, ""
	}
	return customize.Number(fields.Map(o, "spec")["replicas"]), fields.String(o, "metadata", "annotations",
		"skerry.dev/shares")
}

// A scale reaches the targets that have an older release, too, and later those that get it again.
func TestAScaleReachesOlderReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.apply("2")
		f.gets("a", "2")
		f.keeps("1", "b", "c")
		f.scale(5)
		five := func(name string) func() bool {
			return func() bool { n, _ := f.replicas(name); return n == 5 }
		}
		for _, name := range []string{"a", "b", "c"} {
			f.eventually("five on "+name, five(name))
		}
		f.keeps("1", "b", "c")
		if n := customize.Number(f.status()["release"]); n != 2 {
			t.Errorf("release %d", n)
		}
		f.restart()
		for _, name := range []string{"a", "b", "c"} {
			f.eventually("five on "+name+" after a restart", five(name))
		}
		f.well("b", nil)
		f.well("c", nil)
		f.well("a", func(p *placement.Progress) { p.Available = 5 })
		f.gets("b", "2")
		f.scale(4)
		f.rollout(map[string]any{"undo": map[string]any{"release": 2}})
		f.eventually("1 with four on a", func() bool {
			if f.sent("a") != "1" {
				return false
			}
			if n, _ := f.replicas("a"); n != 4 {
				t.Fatalf("a has %d replicas of release 1", n)
			}
			return true
		})
	})
}

// A review names the targets that have another version of an object than it has now.
func TestAReviewNamesOlderReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.apply("2")
		f.gets("a", "2")
		s, err := f.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{APIGroup: "apps",
			Resource: "deployments", Namespace: "app", Name: "web"}})
		if err != nil {
			t.Fatal(err)
		}
		is := map[string]int64{}
		for _, target := range s.Targets {
			is[target.Name] = target.Release
		}
		if want := map[string]int64{"a": 0, "b": 1, "c": 1}; !maps.Equal(is, want) {
			t.Errorf("%v, want %v", is, want)
		}
	})
}

// Shares are those of the moment, whatever release a target has.
func TestDividedReplicasHaveReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.targets = map[string]any{"replicas": "Divided"}
		f.rollout(nil)
		shares := func(names, image, want string) {
			t.Helper()
			for _, name := range strings.Fields(names) {
				f.eventually(fmt.Sprintf("%s has %s with %s", name, image, want), func() bool {
					_, is := f.replicas(name)
					return is == want && f.sent(name) == image
				})
			}
		}
		shares("a b c", "1", `{"a":1,"b":1,"c":1}`)
		f.apply("2")
		shares("a", "2", `{"a":1,"b":1,"c":1}`)
		shares("b c", "1", `{"a":1,"b":1,"c":1}`)
		f.scale(6)
		shares("a", "2", `{"a":2,"b":2,"c":2}`)
		shares("b c", "1", `{"a":2,"b":2,"c":2}`)
		if n := customize.Number(f.status()["release"]); n != 2 {
			t.Errorf("release %d", n)
		}
		f.target("d", map[string]any{"ring": "rest", "all": "yes"})
		shares("b c d", "1", `{"a":2,"b":2,"c":1,"d":1}`)
		shares("a", "2", `{"a":2,"b":2,"c":1,"d":1}`)
	})
}
