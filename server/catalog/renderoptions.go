package catalog

import (
	"cmp"
	"runtime"
	"sync"
	"weak"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Origin returns what is rendered into a body.
func (m *RenderOptions) Origin(space, uid string) customize.Origin {
	o := customize.Origin{Space: space, UID: uid}
	if m != nil {
		o.Placement, o.Sync, o.PodAPI, o.Reaches = m.placement, m.Sync, m.Api, m.Reaches
		o.Hosts, o.Stops, o.Entered, o.Members = m.Hosts, m.Stops, m.Entered, m.Members
		o.Division, o.RunsOnce = m.Division, m.runsOnce
	}
	return o
}

// SetOptions makes the options of a Placement follow its rule and policy, the annotation skerry.dev/sync
// that says both of the policy and of what comes back, and how it divides replicas. Equal ones leave them as they are.
func (b *Rulebook) SetOptions(p v1alpha1.SyncPolicy, sync string, division *placement.Division) {
	next := RenderOptions{placement: b.Name, Sync: sync, Policy: p, Division: division}
	next.runsOnce = b.Rule != nil && b.Rule.BreakFirst
	next.Releases = b.Rollout != nil
	if was := b.Options; was == nil || was.Sync != next.Sync || was.runsOnce != next.runsOnce ||
		was.Releases != next.Releases ||
		!was.Division.Same(division) {
		b.Options = newRenderOptions(next)
	}
}

// newRenderOptions returns options with what they have of their own.
func newRenderOptions(m RenderOptions) *RenderOptions {
	out := &m
	if m.Division != nil {
		m := m
		m.Division = nil
		out.whole = newRenderOptions(m)
	}
	out.variants, out.made = map[variant]*RenderOptions{}, &sync.Map{}
	all := []variant{{Api: placement.SpaceAPI}, {Api: placement.NoAPI}, {Reaches: true}}
	if m.Division != nil {
		all = append(all, variant{Started: true}, variant{Api: placement.SpaceAPI, Started: true},
			variant{Api: placement.NoAPI, Started: true})
	}
	for _, is := range all {
		v := m
		if v.variant = is; is.Started {
			v.Division = m.Division.Started()
		}
		out.variants[is] = &v
	}
	return out
}

// unplaced has the variants of what no Placement decides about.
var unplaced = newRenderOptions(RenderOptions{})

// WantedOptions returns the options of who decides about the object now, in the variant for its
// pods, or its name. Delivery.mu must be held.
func (c *Catalog) WantedOptions(o *Object) *RenderOptions {
	var m *RenderOptions
	all := unplaced
	if o.Source != nil && o.Source.Kind == OfPlacement {
		if m = o.Source.Book.Options; m != nil {
			if m.whole != nil && c.elsewhere(o) {
				m = m.whole // nobody has a share there
			}
			all = m
		}
	}
	is := variant{Api: o.podAPI(), Started: m != nil && m.Division != nil && o.autoscaled()}
	if o.Reaches {
		is = variant{Reaches: true}
	}
	if all.variants[is] != nil {
		m = all.variants[is]
	}
	plain := is
	is.Hosts, is.Stops, is.Entered, is.Members = hosts(o), stops(c, o), o.Reaches && entered(o), members(c, o)
	if is != plain {
		return all.with(cmp.Or(m, all), is)
	}
	return m
}

// with returns the options of a variant that has words, of those that it has without them: the same ones for the same
// words. They are forgotten when no object has them, since users choose the words.
func (m *RenderOptions) with(plain *RenderOptions, is variant) *RenderOptions {
	all := m.made
	for {
		known, has := all.Load(is)
		if has {
			if o := known.(weak.Pointer[RenderOptions]).Value(); o != nil {
				return o
			}
		}
		made := *plain
		made.variant = is
		next := weak.Make(&made)
		if has && !all.CompareAndSwap(is, known, next) {
			continue
		}
		if !has {
			if _, has = all.LoadOrStore(is, next); has {
				continue
			}
		}
		runtime.AddCleanup(&made, func(is variant) { all.CompareAndDelete(is, next) }, is)
		return &made
	}
}

// RerenderIfStale enqueues objects that were rendered with other options than they should be
// now. d.mu must be held.
func (c *Catalog) RerenderIfStale(objects ...*Object) {
	for _, o := range objects {
		if o.Present && !o.Retired && o.Hash != (store.Hash{}) && o.Options != c.WantedOptions(o) {
			c.Renders.Add(o.Key())
		}
	}
}
