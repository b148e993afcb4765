package delivery

import (
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// with has a claim ask for something else, as one that was made anew.
func (c *center) with(claim store.Key, field string, value any) {
	m := meta("data")
	m["namespace"] = "app"
	spec := map[string]any{"accessModes": []any{"ReadWriteOnce"}}
	spec[field] = value
	c.put(claim, obj("v1", "PersistentVolumeClaim", m, "spec", spec))
}

// A raw block volume is not copied, and what one Pod alone may mount is copied in a move alone. Both say why.
func TestUncommonVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		app, claim := c.movable()
		c.with(claim, "volumeMode", "Block")
		c.replicates(fuzzy)
		c.eventually("it has no standby", func() bool { return strings.Contains(c.saidOf(claim).Message, "volumeMode: Block") })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("it stays", func() bool {
			_, reason, message := c.namespaceMoving()
			return reason == "VolumeWouldStay" && strings.Contains(message, "volumeMode Filesystem")
		})
		if c.copies.wanted() != nil || !c.has("a", app) || c.has("b", app) {
			t.Fatal("it is copied, or has left")
		}
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.with(claim, "accessModes", []any{"ReadWriteOncePod"})
		c.eventually("for one Pod it has no standby", func() bool {
			return strings.Contains(c.saidOf(claim).Message, "it takes a claim with ReadWriteOnce")
		})
		if r, _ := c.copies.replicated(); r != nil {
			t.Fatal("it is replicated")
		}
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("for one Pod it moves", func() bool { return c.copies.wanted() != nil })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.with(claim, "volumeMode", "Filesystem")
		c.eventually("any other has a standby", func() bool { r, _ := c.copies.replicated(); return r != nil })
		c.put(claim, nil)
		c.eventually("nothing is remembered", func() bool {
			c.d.catalog.RLock()
			defer c.d.catalog.RUnlock()
			return len(c.d.catalog.Uncommon) == 0
		})
	})
}
