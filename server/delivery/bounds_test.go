package delivery

import (
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// workload writes a Deployment in a namespace of its own that requests cpu per replica.
func (c *center) workload(name string, replicas int64, cpu string) store.Key {
	k := key("apps", "deployments", "web")
	k.Namespace = name
	if c.annotation(nsKey(name)) == "" {
		c.namespace(name, nil)
	}
	m := map[string]any{"name": "web", "namespace": name, "generation": replicas}
	pod := map[string]any{"containers": []any{map[string]any{
		"resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}}}
	c.put(k, obj("apps/v1", "Deployment", m, "spec", map[string]any{"replicas": replicas,
		"template": map[string]any{"spec": pod}}))
	return k
}

func (c *center) cpu(target string) int64 {
	room, _ := c.d.Room(target)
	return room.Requested.CPU
}

func cpuBounds(cpu string) map[string]any {
	return map[string]any{"bounds": map[string]any{"cpu": cpu}}
}

func TestWhatDoesNotFitGoesElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.spec("a", cpuBounds("1"), nil)
		c.spec("b", cpuBounds("2"), nil)
		first := c.workload("first", 1, "800m")
		c.eventually("on a", func() bool { return c.has("a", first) && c.cpu("a") == 800 })
		second := c.workload("second", 2, "400m")
		c.eventually("on b", func() bool { return c.has("b", second) && c.cpu("b") == 800 })
		third := c.workload("third", 1, "1500m")
		c.eventually("refused", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, e := range []string{"Scheduled"} {
				for _, is := range catalog.ReadConditions(c.objects[nsKey("third")]) {
					m := is.(map[string]any)
					if m["type"] == "skerry.dev/"+e && m["reason"] == placement.OverBounds && m["status"] == "False" {
						return strings.Contains(m["message"].(string), "cpu 2300m of 1")
					}
				}
			}
			return false
		})
		c.put(second, nil)
		c.eventually("room for the third", func() bool { return c.has("b", third) && c.cpu("b") == 1500 })
		c.restart()
		if c.cpu("a") != 800 || c.cpu("b") != 1500 {
			t.Errorf("after a restart %d and %d are requested", c.cpu("a"), c.cpu("b"))
		}
	})
}

func TestWhatGrowsOverABoundMovesAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.spec("a", cpuBounds("1"), nil)
		first, second := c.workload("first", 1, "400m"), store.Key{}
		c.eventually("on a", func() bool { return c.has("a", first) })
		c.spec("b", map[string]any{"unschedulable": true}, nil)
		second = c.workload("second", 1, "400m")
		c.eventually("both on a", func() bool { return c.has("a", second) && c.cpu("a") == 800 })
		c.spec("b", map[string]any{}, nil)
		c.workload("second", 2, "400m")
		c.eventually("the second on both", func() bool { return c.has("b", second) && c.has("a", second) })
		c.report("b", second, nil)
		c.eventually("the second on b", func() bool { return !c.has("a", second) && c.cpu("a") == 400 })
		if !c.has("a", first) || c.has("b", first) || c.cpu("b") != 800 {
			t.Errorf("%d is requested on b", c.cpu("b"))
		}
	})
}

// A site that does not get more nodes (spec.elastic) takes nothing new beyond what they have; what is there may
// grow. One of which that is not said takes all.
func TestWhatNodesHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		site := func(name string, spec map[string]any, cpu, others string) {
			c.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", meta(name), "spec", spec, "status",
				map[string]any{"conditions": []any{map[string]any{"type": "Connected", "status": "True"}},
					"allocatable": map[string]any{"cpu": cpu}, "allocated": map[string]any{"cpu": others}}))
		}
		fixed := map[string]any{"elastic": false}
		site("a", fixed, "2", "1")
		site("b", map[string]any{"unschedulable": true}, "1", "0")
		first := c.workload("first", 1, "800m")
		c.eventually("on a", func() bool { return c.has("a", first) && c.cpu("a") == 800 })
		second := c.workload("second", 1, "500m")
		c.eventually("no room", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			m := catalog.ReadConditions(c.objects[nsKey("second")]).Get("skerry.dev/Scheduled")
			return m != nil && m["reason"] == "InsufficientCPU"
		})
		c.workload("first", 3, "800m")
		synctest.Wait()
		if !c.has("a", first) || c.has("a", second) || c.has("b", second) {
			t.Errorf("first on a: %t, second on a: %t, on b: %t", c.has("a", first), c.has("a", second), c.has("b", second))
		}
		c.workload("first", 1, "800m")
		site("a", fixed, "4", "1")
		c.eventually("there are more nodes", func() bool { return c.has("a", second) })
		site("a", map[string]any{}, "1", "1")
		third := c.workload("third", 1, "5")
		c.eventually("nothing is kept away", func() bool { return c.has("a", third) })
	})
}
