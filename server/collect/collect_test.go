package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// byPhase counts Pods.
func byPhase() map[string]any {
	return object("StatusCollector", "by-phase", nil, "spec", map[string]any{
		"scope":          map[string]any{"resource": "pods", "ownedBy": "Placed"},
		"groupBy":        []any{map[string]any{"name": "phase", "def": "obj.status.phase"}},
		"combinedFields": []any{map[string]any{"name": "n", "type": "COUNT"}}})
}

// replicas sums up those of Deployments.
func replicas() map[string]any {
	return object("StatusCollector", "replicas", nil, "spec", map[string]any{
		"scope": map[string]any{"apiGroup": "apps", "resource": "deployments"},
		"combinedFields": []any{map[string]any{"name": "sum", "type": "SUM", "subject": "obj.status.replicas"},
			map[string]any{"name": "wanted", "type": "MAX", "subject": "obj.spec.replicas"}}})
}

func TestPodsAreCountedByPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris", "rome")
		c.place("web", "stores", "paris", "rome")
		c.pod("paris", "a", "web", "Running")
		c.pod("rome", "a", "web", "Running")
		c.Put(ours("statuscollectors", "by-phase"), byPhase())
		c.start()
		o := c.rows("by-phase", "by-phase", []string{"Running", "2"}) // of what was reported before
		if ref, _ := fields.List(o, "metadata", "ownerReferences")[0].(map[string]any); ref["uid"] != "uid-by-phase" {
			t.Errorf("owner %v", ref)
		}
		for i := range 30 {
			c.pod("rome", fmt.Sprint("b", i), "web", "Pending")
		}
		before := c.written(ours("combinedstatuses", "by-phase"))
		c.rows("by-phase", "by-phase", []string{"Pending", "30"}, []string{"Running", "2"})
		if n := c.written(ours("combinedstatuses", "by-phase")); n != before+1 {
			t.Errorf("%d writes for 30 reports", n-before)
		}
		c.says("rome", store.Key{Space: "shop", Resource: "pods", Namespace: "app", Name: "a"}, nil)
		c.pod("rome", "of-nobody", "gone", "Failed")
		c.rows("by-phase", "by-phase", []string{"Pending", "30"}, []string{"Running", "1"})
		c.place("web", "stores", "paris") // it leaves rome, whose reports may be there for long
		c.c.Changed(ours("placements", "stores"))
		c.rows("by-phase", "by-phase", []string{"Running", "1"})
	})
}

func TestOneReportIsOneEvaluation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris")
		c.place("web", "", "paris")
		for i := range 100 {
			c.pod("paris", fmt.Sprint("p", i), "web", "Running")
		}
		c.Put(ours("statuscollectors", "by-phase"), byPhase())
		c.start()
		c.rows("by-phase", "by-phase", []string{"Running", "100"})
		c.Mu.Lock()
		before := c.reads
		c.Mu.Unlock()
		c.pod("paris", "p7", "web", "Failed")
		c.rows("by-phase", "by-phase", []string{"Running", "99"}, []string{"Failed", "1"})
		c.Mu.Lock()
		defer c.Mu.Unlock()
		if c.reads-before != 1 {
			t.Errorf("%d reports were read for one", c.reads-before)
		}
	})
}

func deployed(replicas string) *store.Report {
	return &store.Report{Status: json.RawMessage(`{"replicas":` + replicas + `}`)}
}

func (c *center) deployed(target string, k store.Key, replicas string) {
	r := deployed(replicas)
	r.OriginUID = "uid-" + k.Name
	c.says(target, k, r)
}

func TestAPlacementFoldsItsOwnObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris", "rome")
		web, api := c.place("web", "stores", "paris", "rome"), c.place("api", "", "paris")
		c.Put(ours("statuscollectors", "replicas"), replicas())
		c.Put(ours("placements", "stores"), object("Placement", "stores", nil, "spec", map[string]any{
			"status": map[string]any{"collectors": []any{"replicas", "missing"}}}))
		c.start()
		c.deployed("paris", web, "3")
		c.deployed("rome", web, "2")
		c.deployed("paris", api, "7")
		c.rows("replicas", "replicas", []string{"12", "3"})
		o := c.rows("placement-stores", "replicas", []string{"5", "3"})
		if m := fields.List(o, "results")[0].(map[string]any); m["name"] != "missing" ||
			!matches(`there is no StatusCollector "missing"`, m["message"].(string)) {
			t.Errorf("%v", m)
		}
		c.Put(ours("placements", "stores"), object("Placement", "stores", nil, "spec", map[string]any{}))
		spaceapitest.Eventually(t, "it goes when nothing is named", func() bool {
			_, err := c.Get(context.Background(), ours("combinedstatuses", "placement-stores"), "")
			return err != nil
		})
	})
}

func TestFreshness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris", "rome", "oslo")
		web := c.place("web", "", "paris", "rome", "oslo")
		c.Put(ours("statuscollectors", "replicas"), replicas())
		c.deployed("paris", web, "3")
		c.deployed("rome", web, "3")
		since := time.Now().Add(-time.Hour).Truncate(time.Second)
		c.outages["rome"] = placement.Outage{Since: since}
		c.outages["oslo"] = placement.Outage{Since: since.Add(-time.Hour)} // it has never reported
		c.start()
		o := c.rows("replicas", "replicas", []string{"6", "3"})
		want := map[string]any{"reporting": 2.0, "stale": 1.0, "oldest": since.UTC().Format(time.RFC3339)}
		if is := fields.Map(o, "freshness"); !reflect.DeepEqual(is, want) {
			t.Errorf("%v, want %v", is, want)
		}
		c.Mu.Lock()
		delete(c.outages, "rome")
		c.Mu.Unlock()
		c.c.Outage("rome")
		spaceapitest.Eventually(t, "all are back", func() bool {
			return fields.Map(c.rows("replicas", "replicas", []string{"6", "3"}), "freshness")["oldest"] == nil
		})
	})
}

func TestMistakesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris")
		web, api := c.place("web", "", "paris"), c.place("api", "", "paris")
		wrong := replicas()
		wrong["spec"].(map[string]any)["filter"] = "obj.status.phase =="
		c.Put(ours("statuscollectors", "replicas"), wrong)
		c.deployed("paris", web, "3")
		c.deployed("paris", api, `"many"`)
		c.start()
		status := func() map[string]any {
			o, _ := c.Get(context.Background(), ours("statuscollectors", "replicas"), "")
			return fields.Map(o, "status")
		}
		ready := func() map[string]any {
			for m := range fields.Maps(status(), "conditions") {
				return m
			}
			return nil
		}
		spaceapitest.Eventually(t, "the spec is refused", func() bool {
			m := ready()
			return m["status"] == "False" && matches("^spec.filter: .*does not compile", m["message"].(string))
		})
		right := replicas()
		right["metadata"].(map[string]any)["generation"] = int64(2)
		c.Put(ours("statuscollectors", "replicas"), right)
		c.rows("replicas", "replicas", []string{"3", "3"})
		spaceapitest.Eventually(t, "one report is counted as an error", func() bool {
			s := status()
			return s["reports"] == 1.0 && s["errors"] == 1.0 && ready()["status"] == "True" &&
				matches(`deployments/app/api at paris: spec.combinedFields\[0\].subject: it is a string and no number`,
					s["lastError"].(string))
		})
	})
}

// What somebody else writes, or removes, is put right.
func TestOnlyTheCenterWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris")
		web := c.place("web", "", "paris")
		c.deployed("paris", web, "3")
		c.Put(ours("statuscollectors", "replicas"), replicas())
		c.start()
		o := c.rows("replicas", "replicas", []string{"3", "3"})
		fields.List(o, "results")[0].(map[string]any)["rows"] = []any{[]any{"99", "99"}}
		c.Put(ours("combinedstatuses", "replicas"), o)
		c.rows("replicas", "replicas", []string{"3", "3"})
		c.Put(ours("combinedstatuses", "replicas"), nil)
		c.rows("replicas", "replicas", []string{"3", "3"})
	})
}

// A label of a target is seen by what has been reported before.
func TestLabelsOfTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris", "rome")
		web := c.place("web", "", "paris", "rome")
		o := replicas()
		spec := o["spec"].(map[string]any)
		spec["groupBy"] = []any{map[string]any{"name": "region", "def": "target.labels.region"}}
		spec["combinedFields"] = spec["combinedFields"].([]any)[:1]
		c.Put(ours("statuscollectors", "replicas"), o)
		c.deployed("paris", web, "3")
		c.deployed("rome", web, "2")
		c.start()
		c.rows("replicas", "replicas", []string{"eu", "3"}, []string{"us", "2"})
		c.Put(targetKey("rome"), object("SyncTarget", "rome", map[string]any{"labels": map[string]any{"region": "eu"}}))
		c.rows("replicas", "replicas", []string{"eu", "5"})
		c.Put(targetKey("paris"), nil)
		c.rows("replicas", "replicas", []string{"eu", "2"})
	})
}

func TestSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris")
		web, api := c.place("web", "", "paris"), c.place("api", "", "paris")
		o := replicas()
		scope := o["spec"].(map[string]any)["scope"].(map[string]any)
		scope["labelSelector"] = map[string]any{"matchLabels": map[string]any{"app": "api"}}
		scope["namespaces"] = []any{"app"}
		c.Put(ours("statuscollectors", "replicas"), o)
		elsewhere := api
		elsewhere.Namespace = "other"
		c.placed[elsewhere] = placement.Located{Key: elsewhere, UID: "uid-api", Targets: []string{"paris"}}
		c.start()
		for k, n := range map[store.Key]string{web: "3", api: "7", elsewhere: "11"} {
			c.deployed("paris", k, n)
		}
		c.rows("replicas", "replicas", []string{"7", "3"})
	})
}
