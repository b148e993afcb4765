package delivery

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// written waits until nothing is written any more, and returns how many records, and how many patches
// of objects, there were since.
func (c *center) written(since *[2]int) (records, patches int) {
	time.Sleep(time.Minute)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	all := 0
	for _, n := range c.patches {
		all += n
	}
	records, patches = c.writes-since[0], all-since[1]
	*since = [2]int{c.writes, all}
	return records, patches
}

// A decision is one write, whatever the number of objects; their annotations follow.
func TestWritesDoNotGrowWithTheObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 300
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		var since [2]int
		c.written(&since)
		one := c.configMap("one")
		if records, patches := c.written(&since); records != 0 || patches != 0 {
			t.Errorf("a create is followed by %d records and %d patches", records, patches)
		}
		all := []store.Key{one}
		for i := range objects - 1 {
			all = append(all, c.deployment(fmt.Sprint("web-", i), map[string]any{"app": "web"}, ""))
		}
		report := func(target string) {
			for _, k := range all {
				if c.has(target, k) {
					c.mayReport(target, k, nil)
				}
			}
		}
		report("a")
		if records, patches := c.written(&since); records != 0 || patches != 0 {
			t.Errorf("%d creates are followed by %d records and %d patches", objects-1, records, patches)
		}

		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.written(&[2]int{})
		report("b")
		records, patches := c.written(&since)
		t.Logf("a move of %d objects: %d records, %d patches", objects, records, patches)
		if records != 2 || patches > 2*objects+10 {
			t.Errorf("a move of %d objects takes %d records and %d patches", objects, records, patches)
		}

		c.label(one, map[string]any{v1alpha1.LabelTarget: "a"})
		c.written(&[2]int{})
		report("a")
		records, patches = c.written(&since)
		t.Logf("a label: %d records, %d patches", records, patches)
		if records > 4 || patches > 4 {
			t.Errorf("a label takes %d records and %d patches", records, patches)
		}

		c.placement("p", 1, []any{"a"}, nil)
		c.written(&[2]int{})
		for range 2 { // what is sent names the Placement
			report("b")
			report("a")
			c.written(&[2]int{})
		}
		records, patches = c.written(&since)
		t.Logf("a new Placement over %d objects: %d records, %d patches", objects-1, records, patches)
		if records > 6 || patches > 3*objects {
			t.Errorf("a new Placement takes %d records and %d patches", records, patches)
		}
		for _, k := range all {
			if !c.has("a", k) || c.has("b", k) {
				t.Fatalf("%s: on a %v, on b %v", k, c.has("a", k), c.has("b", k))
			}
		}
	})
}
