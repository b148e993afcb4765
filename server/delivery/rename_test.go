package delivery

import (
	"strconv"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// renameTo stores a SyncTarget by another name as the center does: with the UID that it has, and one
// rename more. The old name stays until it is deleted.
func (c *center) renameTo(from, to string, renames int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.objects[rootKey("synctargets", from)]
	m := meta(to)
	m["uid"], m["labels"] = fields.Clone(old, "metadata", "uid"), old["metadata"].(map[string]any)["labels"]
	m["annotations"] = map[string]any{v1alpha1.AnnotationRenames: strconv.Itoa(renames)}
	c.commit(rootKey("synctargets", to), obj("skerry.dev/v1alpha1", "SyncTarget", m, "status", old["status"]))
}

// A SyncTarget that is renamed keeps its feed with all that is in it and nothing new, whatever dies
// between the two writes. Back is a rename, too: both names are then former ones of the other.
func TestARenamedTargetKeepsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.target("a", nil)
		c.target("b", nil)
		c.space("shop")
		c.run()
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		k := c.configMap("settings")
		c.eventually("it is placed", func() bool { return c.has("a", k) && c.annotation(k) == "a" })
		feed := c.d.Feed("a")
		before, all := feed.Since(0, 100), feed.All()
		kept := func(when, name string) {
			t.Helper()
			c.eventually(when+": it is there by the new name", func() bool { return c.has(name, k) && c.annotation(k) == name })
			if now := c.d.Feed(name); now.Len() != len(all) {
				t.Errorf("%s: the feed has %d entries, of %d", when, now.Len(), len(all))
			}
		}

		c.renameTo("a", "paris", 1)
		if c.d.Feed("paris") != feed || c.d.Feed("a") != nil {
			t.Error("the feed is not that of the new name alone")
		}
		c.put(rootKey("synctargets", "a"), nil)
		kept("renamed", "paris")
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "paris"})
		kept("wished by the new name", "paris")
		for _, e := range feed.Since(0, 100) {
			if e.Key != nsKey("app") && (e.Tombstone || e.Revision > last(before)) {
				t.Errorf("the site gets %s anew, tombstone %t", e.Key, e.Tombstone)
			}
		}
		c.restart()
		kept("after a restart", "paris")

		c.renameTo("paris", "a", 2)
		for _, when := range []string{"a write to the old name", "a restart"} {
			if c.change(rootKey("synctargets", "paris"), map[string]any{"finalizers": []any{when}}); when == "a restart" {
				c.restart()
			}
			if c.d.Feed("a") == nil || c.d.Feed("paris") != nil {
				t.Errorf("%s takes the target back from its newer name", when)
			}
		}
		kept("both names are stored", "a")
		c.put(rootKey("synctargets", "paris"), nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		kept("the old name is deleted", "a")

		c.target("paris", nil)
		c.restart()
		kept("another site has the former name", "a")
		if c.has("paris", k) {
			t.Error("the other site has what the renamed one has")
		}
	})
}

func last(entries []store.Entry) (revision int64) {
	for _, e := range entries {
		revision = max(revision, e.Revision)
	}
	return revision
}
