package catalog

import (
	"skerry.dev/skerry/server/api/v1alpha1"
)

// KeepsPlace reports whether an object stays on the targets that it is no longer placed on.
func KeepsPlace(p v1alpha1.SyncPolicy) bool {
	return p.WhenPlacementDeleted == v1alpha1.PlacementOrphan
}

// KeepsPlace tells it of an object, by the Placement that decides about it, else by what a parent
// wrote.
func (o *Object) KeepsPlace() bool {
	if o.Options != nil && o.Options.Sync != "" {
		return KeepsPlace(o.Options.Policy)
	}
	return o.ParentKeeps
}

// KeepsPlace tells it of an object also by who let go of it. The lock must be held.
func (c *Catalog) KeepsPlace(o *Object) bool {
	_, keeping := c.Records.Keeping[o]
	return keeping || o.KeepsPlace()
}

// WakeUnless lets the decision writer look at what decides about an object unless it stays on what it leaves as
// before: what must not run twice waits for that. The lock must be held.
func WakeUnless(c *Catalog, o *Object, kept bool) {
	if o.Source == nil || c.KeepsPlace(o) == kept {
		return
	}
	c.Enqueue(o.Source)
	c.WakeMoving(o)
}
