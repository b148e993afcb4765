package delivery

import (
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/placement"
)

// Of which objects a space does not show the Pods: workloads at more targets than are mirrored, in the
// namespace that is asked for, and in that space alone.
func TestUnmirrored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web, config := c.deployment("web", map[string]any{"app": "web"}, "m"), c.configMap("m")
		for i := range placement.MostMirrored - 2 { // shop has a and b
			c.target(fmt.Sprintf("t%02d", i), nil)
		}
		c.where("p", 1, map[string]any{"selectors": []any{map[string]any{}}})
		on := func(n int) func() bool {
			return func() bool {
				at, _ := c.d.Located(web)
				with, _ := c.d.Located(config)
				return len(at.Targets) == n && len(with.Targets) == n
			}
		}
		c.eventually("it is on as many as are mirrored", on(placement.MostMirrored))
		if all := desired.Unmirrored(c.d.State, "shop", ""); len(all) > 0 {
			t.Errorf("not shown: %v", all)
		}
		c.target("z", nil)
		c.eventually("it is on one more", on(placement.MostMirrored+1))
		for _, namespace := range []string{"", "app"} {
			if all := desired.Unmirrored(c.d.State, "shop", namespace); len(all) != 1 || all[0].Key != web ||
				len(all[0].Targets) != placement.MostMirrored+1 {
				t.Errorf("in %q not shown: %v", namespace, all)
			}
		}
		for space, namespace := range map[string]string{"shop": "other", "bank": ""} {
			if all := desired.Unmirrored(c.d.State, space, namespace); len(all) > 0 {
				t.Errorf("in %s/%s not shown: %v", space, namespace, all)
			}
		}
		c.put(web, nil)
		c.eventually("it is gone", func() bool { return len(desired.Unmirrored(c.d.State, "shop", "")) == 0 })
	})
}
