package catalog

import (
	"slices"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// BringsDependencies reports whether what the object names goes with it: unless the Placement that
// decides about it says otherwise.
func (o *Object) BringsDependencies() bool {
	g := o.Source
	return g == nil || g.Kind != OfPlacement || g.Book.Rule == nil || g.Book.Rule.BringsDependencies
}

// NamesExactly reports whether a workload names these objects, in this order.
func (o *Object) NamesExactly(keys []store.Key) bool {
	if o.Work == nil {
		return len(keys) == 0
	}
	return slices.EqualFunc(o.Work.Names, keys, func(dep *Object, k store.Key) bool { return dep.Key() == k })
}

// NeedWork returns what only some objects have, and begins it where the object has none.
func (o *Object) NeedWork() *Work {
	if o.Work == nil {
		o.Work = &Work{}
	}
	return o.Work
}

// DropWork saves the memory of what says nothing.
func (o *Object) DropWork() {
	if w := o.Work; w != nil && len(w.Names) == 0 && len(w.NamedBy) == 0 && w.Replicas == 0 && !w.Templates &&
		w.Mover == nil && w.Security == placement.NeedsNothing &&
		w.Account.Name == "" && w.Requests == (placement.Requests{}) && w.Charged.Requests == (placement.Requests{}) {
		o.Work = nil
	}
}

// Related lists those of what an object names, or of what names it, that exist. It takes the lock.
func (c *Catalog) Related(k store.Key, list func(*Work) []*Object) (out []store.Key) {
	c.RLock()
	defer c.RUnlock()
	o := c.Find(k)
	if o == nil || o.Work == nil {
		return nil
	}
	for _, other := range list(o.Work) {
		if other.Present {
			out = append(out, other.Key())
		}
	}
	return out
}
