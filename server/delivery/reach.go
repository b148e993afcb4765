package delivery

import (
	"math/rand/v2"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// Serving returns the targets where the Service of a key and UID is and may be called, besides one that asks, in no
// order, and the UID that it has at the parent of a relay, empty where it does not come from there. It is false where
// the one that asks has neither the Service nor its name. The parent, which asks without the name of a target, has it.
func (d *Delivery) Serving(target string, k store.Key, uid string) (at []string, above string, has bool) {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	o := d.catalog.Find(k)
	if o == nil || !o.Present || o.UID != uid || !o.Reaches || target != "" && !o.HasAt(target) {
		return nil, "", false
	}
	return others(d.catalog, o.On, target), o.Above(), true
}

// Closes reports whether spec.allow of a SyncTarget closes a way to reach into it, one of exchange.Ways.
func (d *Delivery) Closes(target, way string) bool {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	t := d.catalog.Targets[target]
	return t != nil && t.Closes(way)
}

// others are the targets of a set whose Services may be called, but one, shuffled. The lock must be held.
func others(c *catalog.Catalog, on *catalog.Set, one string) (out []string) {
	for _, name := range on.List() {
		if t := c.Targets[name]; name != one && t != nil && !t.Closes(exchange.Calling) {
			out = append(out, name)
		}
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
