package catalog

import (
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/store"
)

// A Placement with rollout.type Progressive has releases, see package rollout. Its state and the content of
// each release are records beside its Binding. What a target gets of an object follows from what is stored
// alone: the release that the state gives to the target, and what that release has of the object. Where
// that is what the object says now, the object itself is sent; else the body that the release keeps.
//
// An object that is deleted in the space, and that a target's release still has, is *retired*: it stays
// in the catalog, and on that target, until no release in use has it (retire.go).

// Rolled is what is stored of the rollouts of one unit, and what is known beside that.
type Rolled struct {
	Unit     binding.UnitID
	Space    string
	Of       v1alpha1.BindingUnit
	Revision int64 // of the state, 0 while there is none
	Epoch    uint32
	State    rollout.State
	Releases map[uint64]*Kept
	Retired  map[*Object]struct{}

	// changed is when an object last changed, and pending since when the content is not that of the newest
	// release; zero while it is.
	changed, Pending time.Time
	// well and online are since when a target is so, by its UID; WellWith is the release of that.
	Well, Online map[string]int64
	WellWith     map[string]uint64
	Problem      string // why no release can be made of the content
}

// Kept is the content of a release.
type Kept struct {
	Revision int64
	Epoch    uint32
	Packed   []byte
	Objects  map[store.Key]*KeptObject
}

// KeptObject is what the catalog has of an object of a release; its body is in the packed content.
type KeptObject struct {
	UID        string
	Generation int64
	Digest     uint64
	Hash       store.Hash
	Scaled     Scaled
	Joined     bool
	sent       *store.Value // see version
}

// rollouts are all units that have records of rollouts. The catalog's lock is held.
type rollouts map[binding.UnitID]*Rolled

// Of returns what is recorded of a unit, and begins that where there is nothing.
func (r rollouts) Of(space string, id binding.UnitID) *Rolled {
	x, ok := r[id]
	if !ok {
		x = &Rolled{Unit: id, Space: space, Releases: map[uint64]*Kept{}, Retired: map[*Object]struct{}{},
			Well: map[string]int64{}, Online: map[string]int64{}, WellWith: map[string]uint64{}}
		r[id] = x
	}
	return x
}

// UnitRef names a unit in the queue of rollouts.
type UnitRef struct {
	space string
	Unit  binding.UnitID
}

// String names the unit for logs.
func (u UnitRef) String() string { return u.space + "/" + string(u.Unit) }

// UnitRef names the unit of a group in the queue of rollouts.
func (g *Group) UnitRef() UnitRef { return UnitRef{g.Space.Name, g.ID()} }

// Ref names the unit in the queue of rollouts.
func (r *Rolled) Ref() UnitRef { return UnitRef{r.Space, r.Unit} }

// Progressive reports whether a group has releases.
func (g *Group) Progressive() bool {
	return g != nil && g.Kind == OfPlacement && g.Book.Rollout != nil
}

// Rolling returns the rollouts that an object of a group is part of, nil where all its targets get what it
// says now. The lock must be held.
func (c *Catalog) Rolling(g *Group) *Rolled {
	if !g.Progressive() {
		return nil
	}
	if r := c.Rollouts[g.ID()]; r != nil && !r.State.Empty() {
		return r
	}
	return nil
}

// Releasable reports whether an object is part of the releases of its Placement. Of Secrets no history is
// kept.
func (o *Object) Releasable() bool {
	return o.Kind.Class == placement.Placed && !(o.Kind.Group == "" && o.Kind.Resource == "secrets")
}

// version is what a target gets of an object.
type version struct {
	hash       store.Hash
	generation int64
	demand     placement.Demand
	Release    *Kept // has the body; nil: the object itself is sent
	// sent keeps what a feed got last of the version, for the next feed that gets it.
	sent **store.Value
}

// asItIs is the version of an object that says what it says now.
func (o *Object) asItIs() version {
	return version{hash: o.Hash, generation: o.Generation, demand: o.Demand(), sent: &o.sent}
}

// VersionAt returns what a target gets of an object that is placed there. It is false for an object that
// the release of the target does not have. The lock must be held.
func (c *Catalog) VersionAt(o *Object, target string) (version, bool) {
	if n := o.NameAt(target); n != nil {
		return version{hash: n.Hash, generation: o.Generation, sent: &n.sent}, !o.Retired
	}
	r := c.Rolling(o.Source)
	if r == nil || !o.Source.Record.Has(target) {
		return o.asItIs(), !o.Retired
	}
	uid := ""
	if t := c.Targets[target]; t != nil {
		uid = t.UID
	}
	return c.versionIn(r, o, r.State.Of(uid))
}

// versionIn returns what the targets that have a release get of an object.
func (c *Catalog) versionIn(r *Rolled, o *Object, number uint64) (version, bool) {
	k, release := o.Key(), r.Releases[number]
	if !o.Releasable() {
		return o.asItIs(), !o.Retired
	}
	if release == nil {
		return o.asItIs(), !o.Retired // its record was lost, which is logged
	}
	is := release.Objects[k]
	if is == nil {
		release, is = r.joined(number, k)
	}
	switch {
	case is != nil && !o.Retired && is.UID == o.UID && is.Digest == o.Digest:
		return o.asItIs(), true
	case is != nil:
		demand := placement.Demand{UID: is.UID, Hash: is.Hash, Replicas: is.Scaled.Replicas}
		if o.Demand().Replicas == 0 {
			demand.Replicas = 0
		}
		return version{hash: is.Hash, generation: is.Generation, demand: demand, Release: release, sent: &is.sent}, true
	case o.Retired:
		return version{sent: &o.sent}, false
	}
	return o.asItIs(), c.joins(o) && !r.lists(o)
}

// joined finds what the first release after a number has of an object that was placed before it came to the
// unit.
func (r *Rolled) joined(after uint64, k store.Key) (*Kept, *KeptObject) {
	for _, release := range r.State.Releases {
		content := r.Releases[release.Number]
		if release.Number <= after || content == nil {
			continue
		}
		if is := content.Objects[k]; is != nil {
			if !is.Joined {
				return nil, nil
			}
			return content, is
		}
	}
	return nil, nil
}

// joins reports whether an object was placed before it came to its group. The lock must be held.
func (c *Catalog) joins(o *Object) bool {
	return o.With != nil && o.Source != nil && o.With.ID != o.Source.ID()
}

// lists reports whether the newest release has an object.
func (r *Rolled) lists(o *Object) bool {
	newest := r.Releases[r.State.Newest().Number]
	if newest == nil {
		return false
	}
	is := newest.Objects[o.Key()]
	return is != nil && is.UID == o.UID
}

// unlisted reports whether an object has to be in a release before it may pass to its group: only then is
// it known at each start that it came from elsewhere. The lock must be held.
func (c *Catalog) unlisted(o *Object) bool {
	r := c.Rolling(o.Source)
	return r != nil && o.Releasable() && c.joins(o) && !r.lists(o)
}

// released are those targets that an object is to be on whose release has it. The lock must be held.
func (c *Catalog) released(o *Object, on *Set) *Set {
	if on == nil || !o.Retired && c.Rolling(o.Source) == nil {
		return on
	}
	names := slices.DeleteFunc(slices.Clone(on.Names), func(t string) bool {
		_, has := c.VersionAt(o, t)
		return !has
	})
	if len(names) == len(on.Names) {
		return on
	}
	return c.Sets.Of(names)
}

// Change is the change that gives a target its version of an object. The lock must be held for writing.
func (c *Catalog) Change(o *Object, target string) store.Change {
	v, _ := c.VersionAt(o, target)
	if s := *v.sent; s == nil || s.Hash != v.hash || s.Generation != v.generation {
		*v.sent = &store.Value{Key: o.Key(), Hash: v.hash, Generation: v.generation}
	}
	return (*v.sent).Change()
}

// AddReleases says of each target with another version of an object than the object has now which release
// that is of. The object may be nil. The lock must be held.
func (c *Catalog) AddReleases(s *v1alpha1.PlacementReviewStatus, o *Object) {
	if o == nil || c.Rolling(o.Source) == nil {
		return
	}
	r := c.Rolling(o.Source)
	for i := range s.Targets {
		t := &s.Targets[i]
		at := c.Targets[t.Name]
		if at == nil || !o.Source.Record.Has(t.Name) {
			continue
		}
		if v, has := c.VersionAt(o, t.Name); !has || v.Release != nil {
			t.Release = int64(r.State.Of(at.UID))
		}
	}
}

// Versions are the demands on the targets of an object whose Placement has releases, nil for others. The
// lock must be held.
func (c *Catalog) Versions(o *Object) *placement.Versions {
	r := c.Rolling(o.Source)
	if r == nil {
		return nil
	}
	at := func(release uint64) *placement.Demand {
		if v, has := c.versionIn(r, o, release); has {
			return &v.demand
		}
		return nil
	}
	out := &placement.Versions{Rest: at(r.State.Default), Named: map[string]*placement.Demand{}}
	of := map[uint64]*placement.Demand{}
	for _, t := range r.State.Targets {
		if _, known := of[t.Release]; !known {
			of[t.Release] = at(t.Release)
		}
		out.Named[t.Name] = of[t.Release]
	}
	return out
}

// content is what a Placement selects, as it is now. The lock must be held.
func (c *Catalog) ContentOf(g *Group, r *Rolled) (out []rollout.Object) {
	var newest *Kept
	if r != nil && !r.State.Empty() {
		newest = r.Releases[r.State.Newest().Number]
	}
	g.Wished(func(o *Object) {
		if o.Leaving || o.Retired || !o.Releasable() || o.Hash == (store.Hash{}) {
			return
		}
		one := rollout.Object{Key: o.Key(), UID: o.UID, Generation: o.Generation, Digest: o.Digest, Joined: c.joins(o)}
		if o.Work != nil {
			one.Replicas = o.Work.Replicas
		}
		if newest != nil {
			if is := newest.Objects[one.Key]; is != nil && is.UID == o.UID {
				one.Joined = one.Joined || is.Joined
			}
		}
		out = append(out, one)
	})
	return out
}

// ProgressiveGroup is the group of a unit that has releases, nil when its Placement is gone or has none any
// more. The lock must be held.
func (c *Catalog) ProgressiveGroup(u UnitRef) *Group {
	if g := c.Spaces[u.space].GroupOf(u.Unit); g.Progressive() {
		return g
	}
	return nil
}

// ContentChanged has a rollout looked at once its content has rested. The lock must be held.
func (c *Catalog) ContentChanged(g *Group) {
	if !g.Progressive() {
		return
	}
	r := c.Rollouts.Of(g.Space.Name, g.ID())
	r.Touch()
	c.Rolls.AddAfter(g.UnitRef(), SettleTime)
}

// SettleTime is how long the content of a Placement must not have changed before it makes a release, so
// that one `helm upgrade` makes one. It makes one after ten times as long in any case.
const (
	SettleTime    = 3 * time.Second
	longestSettle = 10 // times SettleTime
	// reportTime is how long reports gather before a rollout is looked at.
	reportTime = time.Second
)

// Touch notes that the content has changed.
func (r *Rolled) Touch() {
	r.changed = time.Now()
	if r.Pending.IsZero() {
		r.Pending = r.changed
	}
}

// Rests is how long it takes until a change makes a release, 0 when it does now.
func (r *Rolled) Rests(now time.Time, settle time.Duration) time.Duration {
	return max(0, min(settle-now.Sub(r.changed), longestSettle*settle-now.Sub(r.Pending)))
}

// WakeRollout has the rollouts of a group looked at soon.
func (c *Catalog) WakeRollout(g *Group) {
	if g.Progressive() {
		c.Rolls.AddAfter(g.UnitRef(), reportTime)
	}
}

// SetProblem takes over why no release can be made, empty for none. It takes the lock.
func (r *Rolled) SetProblem(c *Catalog, text string) {
	c.Lock()
	defer c.Unlock()
	r.Problem = text
}

// Retains reports whether a release that a target may have has an object. The lock must be held.
func (c *Catalog) Retains(o *Object) bool {
	r := c.Rolling(o.Source)
	if r == nil || !o.Releasable() || !o.Namespace.Space.Known {
		return false
	}
	if n := o.Namespace; n.Name != "" && (n.Self == nil || n.Self.Leaving) {
		return false
	}
	k := o.Key()
	for _, number := range r.State.InUse() {
		release := r.Releases[number]
		if release == nil {
			continue
		}
		is := release.Objects[k]
		if is == nil {
			_, is = r.joined(number, k)
		}
		if is != nil && is.UID == o.UID {
			return true
		}
	}
	return false
}
