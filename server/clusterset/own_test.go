package clusterset

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An import that somebody has written leads nowhere, and says so in a set.
func TestAnImportOfItsOwnSaysThatItLeadsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t)
		c.space("shop", "prod")
		c.space("desk", "prod")
		c.space("other", "")
		for _, space := range []string{"shop", "desk", "other"} {
			c.namespace(space)
		}
		for _, space := range []string{"desk", "other"} {
			c.Put(importKey(space), map[string]any{"metadata": map[string]any{"name": "web", "namespace": "app"}})
		}
		c.run()
		settle()
		says := func(want string) {
			t.Helper()
			if is := fmt.Sprint(c.Object(importKey("desk"))["status"]); !strings.Contains(is, want) {
				t.Errorf("it says %s, not %s", is, want)
			}
		}
		says("NotMadeByCenter")
		says("no space of the set exports a Service web of a Namespace app")
		c.service("shop", "{port: 80}")
		c.export("shop", "2026-01-01T00:00:00Z")
		settle()
		says("delete it, and the center makes its own")
		c.expect("outside of the set", c.Object(importKey("other"))["status"], nil)
	})
}

// What sites make of the exports of a space that was never in a set is theirs to say.
func TestExportsOfNoSetAreNotJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t)
		c.space("shop", "")
		c.namespace("shop")
		c.service("shop", "{port: 80}")
		c.export("shop", "2026-01-01T00:00:00Z")
		c.Put(definition("shop", "serviceexports"), map[string]any{"metadata": map[string]any{}})
		c.run()
		settle()
		c.expect("conditions", c.shows("shop"), map[string]string{})
		c.expect("writes", len(c.Writes), 0)
	})
}

// A definition that is deleted, or replaced by one that sends its objects to sites, is as before.
func TestDefinitionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t)
		c.space("shop", "prod")
		c.run()
		settle()
		k := definition("shop", "serviceimports")
		for what, o := range map[string]map[string]any{"deleted": nil, "replaced": {"metadata": map[string]any{}}} {
			c.Put(k, o)
			settle()
			c.expect(what, staysInSpace(c.Object(k)), true)
		}
	})
}

// settle waits until the Controller has nothing to do: what failed is tried again within half a minute.
func settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}
