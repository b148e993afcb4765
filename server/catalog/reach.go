package catalog

import (
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// A Service that reaches its space (skerry.dev/reach: Space) is also at the targets where its space runs pods or
// lets callers in, and where the Service itself is not: there its name leads to the targets where it is
// (agent/services). Such a target is no place of it. No record has it, no status is read of it, and no move waits
// for it: nothing runs there.

// Name is what is known of a Service that reaches its space besides the Service itself.
type Name struct {
	// Hash is of what a target gets that has it for its name alone. It is zero where that is all of it.
	Hash store.Hash
	// Above is its UID at the parent of a relay, empty where it does not come from there.
	Above string
	sent  *store.Value
}

// Reaching reports whether the name of a Service is to answer wherever its space runs pods: by its own word, else
// by that of its Namespace, else of its space.
func (o *Object) Reaching() bool { return o.Namespace.reaches(o.Reach) }

// reaches reports whether the name of a Service of a Namespace answers wherever its space runs pods, by its own word.
func (n *Namespace) reaches(own placement.Reach) bool {
	for _, word := range []placement.Reach{own, n.Reach, n.Space.Reach} {
		if word != placement.ReachUnsaid {
			return word == placement.ReachSpace
		}
	}
	return false
}

// NameAt is what a target gets of an object that is not there but for its name, nil for all of it.
func (o *Object) NameAt(target string) *Name {
	if n := o.Namespace.Space.Reaching[o]; n != nil && n.Hash != (store.Hash{}) && !o.On.Has(target) &&
		!doorsOf(o).Has(target) {
		return n
	}
	return nil
}

// Above is the UID that a Service which reaches its space has at the parent of a relay. It is empty where it does not
// come from there. The lock must be held.
func (o *Object) Above() string {
	if n := o.Namespace.Space.Reaching[o]; n != nil {
		return n.Above
	}
	return ""
}

// Moves reports whether an object, or a workload that it follows, is on its way to another target. The lock must be
// held.
func Moves(c *Catalog, o *Object) bool {
	moves := func(o *Object) bool { return !c.Records.Index.Record(c.Records.Of(o)).Settled() }
	if moves(o) {
		return true
	}
	if o.Ties == nil {
		return false
	}
	for leader := range o.Ties.Leaders.all() {
		if moves(leader) {
			return true
		}
	}
	return false
}

// Feeds are the targets whose feeds have an object: where it is, and where its name is.
func (c *Catalog) Feeds(o *Object) *Set { return c.Sets.Union(o.On, o.Named) }

// HasAt reports whether the feed of a target has an object.
func (o *Object) HasAt(target string) bool { return o.On.Has(target) || o.Named.Has(target) }

// NamedAt is where the name of an object is to be that is on a set of targets: while it is on none, between two
// places, the name is wherever the space runs pods, and where an Ingress or a route sends callers to it. Before the
// object is rendered as one that reaches, what of it is its name is not known, and the name is nowhere. A relay
// takes the name for any Service: it chooses a target of its own for it, and has the name wherever the space runs
// pods below it. The lock must be held.
func (c *Catalog) NamedAt(o *Object, on *Set) *Set {
	if !o.Reaches || o.Options == nil || !o.Options.Reaches || !o.Present || o.Leaving || o.Retired || o.Source == nil {
		return nil
	}
	var out []string
	runs := c.Sets.Union(c.everywhere(nil, o.Namespace.Space.Runs), enteredAt(c, o))
	for _, name := range c.Sets.Minus(runs, on).List() {
		if t := c.Targets[name]; t != nil && !t.Emptied && !yields(c, o, name) {
			out = append(out, name)
		}
	}
	return c.Sets.Of(out)
}
