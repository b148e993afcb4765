package catalog

import (
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Entries returns the Services and Ingresses by which others reach an object: itself, what selects its pods,
// and what sends to that. Some may be there twice. The lock must be held.
func (o *Object) Entries() (out []store.Key) {
	if placement.HasAddress(o.Kind.Group, o.Kind.Resource) {
		out = append(out, o.Key())
	}
	if o.Ties == nil {
		return out
	}
	for f := range o.Ties.Followers.all() {
		if placement.HasAddress(f.Kind.Group, f.Kind.Resource) {
			out = append(out, f.Entries()...)
		}
	}
	return out
}

// WakeServed lets the decision writer look at what is on its way and is reached by an object that has, or has
// lost, an address. The lock must be held.
func (c *Catalog) WakeServed(o *Object) {
	if o.Ties == nil || !placement.HasAddress(o.Kind.Group, o.Kind.Resource) {
		return
	}
	for l := range o.Ties.Leaders.all() {
		c.WakeMoving(l)
		c.WakeServed(l)
	}
}
