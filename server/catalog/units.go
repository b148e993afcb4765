package catalog

import (
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// records are all Bindings and cohorts as they are stored. The catalog's lock is held.
type records struct {
	Index   *binding.Index
	Targets scheduler.Targets
	Units   map[binding.UnitID]*Unit
	Cohorts map[uint64]*Cohort
	// open are the cohorts that have not arrived, towards are all, by what they pass to.
	Open, towards cohortIndex
	Term          binding.Term
	TermAt        int64 // the revision of the term, 0 while there is none
	// keeping are objects that have left who would let them stay on the targets that they leave.
	Keeping map[*Object]struct{}
}

func newRecords() records {
	return records{Index: binding.NewIndex(), Units: map[binding.UnitID]*Unit{}, Cohorts: map[uint64]*Cohort{},
		Open: cohortIndex{}, towards: cohortIndex{}, Keeping: map[*Object]struct{}{}}
}

// Stored is what all records have: where they lie, and where they say that their objects are.
type Stored struct {
	Space    string
	Of       v1alpha1.BindingUnit
	Revision int64 // 0 while it is not stored
	Epoch    uint32
	On, sole *Set // sole is where what must exist once is, nil where the record does not say
	held     bool // what must exist once has left a target, and is not known to be gone there
	beside   *Set // see binding.Record.Beside
	copying  *Set // targets that were left, whose volumes are being copied: claims stay there
}

// Unit is a unit with its Binding, if it has one. Objects have it as their stamp.
type Unit struct {
	ID binding.UnitID
	Stored
	objects map[*Object]struct{} // those with this stamp, see BeWith
}

// Cohort is a cohort with the objects that it names, and some that are gone.
type Cohort struct {
	Seq uint64
	to  binding.UnitID
	Stored
	Objects map[*Object]struct{}
}

// cohortIndex has cohorts by the unit that they pass to.
type cohortIndex map[binding.UnitID]map[*Cohort]struct{}

func (x cohortIndex) add(c *Cohort) {
	if x[c.to] == nil {
		x[c.to] = map[*Cohort]struct{}{}
	}
	x[c.to][c] = struct{}{}
}

func (x cohortIndex) remove(c *Cohort) {
	if delete(x[c.to], c); len(x[c.to]) == 0 {
		delete(x, c.to)
	}
}

// PassesTo notes what a cohort passes to, and whether it is there.
func (r *records) PassesTo(c *Cohort, to binding.UnitID, there bool) {
	r.Open.remove(c)
	r.towards.remove(c)
	c.to = to
	if r.towards.add(c); !there {
		r.Open.add(c)
	}
}

// ForgetCohort drops a cohort that is not stored any more.
func (r *records) ForgetCohort(c *Cohort) {
	delete(r.Cohorts, c.Seq)
	r.Open.remove(c)
	r.towards.remove(c)
}

// UnitOf returns the unit of an id, and begins it where there is none.
func (r *records) UnitOf(id binding.UnitID) *Unit {
	u, ok := r.Units[id]
	if !ok {
		u = &Unit{ID: id}
		r.Units[id] = u
	}
	return u
}

// StampOf is the unit that an annotation names, nil for none.
func (r *records) StampOf(text, uid string) *Unit {
	switch text {
	case "":
		return nil
	case v1alpha1.UnitSelf:
		return r.UnitOf(binding.UnitID(uid))
	}
	return r.UnitOf(binding.UnitID(text))
}

// StampText is the annotation of an object that is with a unit.
func StampText(id binding.UnitID, o *Object) string {
	if string(id) == o.UID {
		return v1alpha1.UnitSelf
	}
	return string(id)
}

// Stamp is the unit that an object says it is with, empty when it was never placed.
func (o *Object) Stamp() binding.UnitID {
	if o.With == nil {
		return ""
	}
	return o.With.ID
}

// Of names the record that decides about an object.
func (r *records) Of(o *Object) binding.Ref { return r.Index.Of(binding.ObjectID(o.UID), o.Stamp()) }

// placeOf is where the record of an object says that it is.
func (r *records) placeOf(o *Object) Stored {
	switch ref := r.Of(o); {
	case ref.Cohort != 0:
		if c := r.Cohorts[ref.Cohort]; c != nil {
			return c.Stored
		}
	case o.With != nil && ref.Unit == o.With.ID:
		return o.With.Stored
	default:
		if u := r.Units[ref.Unit]; u != nil {
			return u.Stored
		}
	}
	return Stored{}
}

// SameAs reports whether two records have their objects at the same places.
func (at Stored) SameAs(o Stored) bool {
	return at.On == o.On && at.sole == o.sole && at.held == o.held && at.beside == o.beside && at.copying == o.copying
}

// Names are the targets of a record, without those of which another SyncTarget has the name now.
// The lock must be held.
func (c *Catalog) Names(ids []binding.TargetID) (out []string) {
	for _, id := range ids {
		is := c.Records.Targets.Of(id)
		if t := c.Targets[is.Name]; t == nil || t.UID == is.UID {
			out = append(out, is.Name)
		}
	}
	return out
}

// Follow takes over where a record says that its objects are, and reports whether that is news.
func (c *Catalog) Follow(at *Stored, r binding.Record) bool {
	on, sole := c.Sets.Of(c.Names(r.Here())), c.Sets.Of(c.Names(r.Soles()))
	held := slices.ContainsFunc(r.Places, func(p binding.Place) bool { return p.Off && p.Sole })
	beside, copying := c.Sets.Of(c.Names(r.Beside())), c.Sets.Of(c.Names(r.Copying()))
	changed := on != at.On || sole != at.sole || held != at.held || beside != at.beside || copying != at.copying
	at.On, at.sole, at.held, at.beside, at.copying = on, sole, held, beside, copying
	return changed
}

// Holder is the group of a unit, nil when its holder is gone. The lock must be held.
func (c *Catalog) Holder(u *Unit) *Group {
	sp := c.Spaces[u.Space]
	if sp == nil {
		return nil
	}
	k := store.Key{
		Space: u.Space, Group: u.Of.Group, Resource: u.Of.Resource, Namespace: u.Of.Namespace, Name: u.Of.Name,
	}
	r := Ref{Kind: OfObject, Key: k}
	switch {
	case k.Class() == store.ClassNamespace:
		r.Kind = OfNamespace
	case k == PlacementKey(k.Space, k.Name):
		r.Kind = OfPlacement
	}
	if g := c.Group(r); g != nil && g.ID() == u.ID {
		return g
	}
	return nil
}

func isPlacement(of v1alpha1.BindingUnit) bool {
	return of.Group == v1alpha1.GroupVersion.Group && of.Resource == "placements"
}

// scope visits all objects that may be with a unit. The lock must be held.
func (c *Catalog) scope(of Stored, visit func(*Object)) {
	sp := c.Spaces[of.Space]
	if sp == nil {
		return
	}
	switch {
	case of.Of.Group == "" && of.Of.Resource == "namespaces":
		if n := sp.Namespaces[of.Of.Name]; n != nil {
			n.each(visit)
		}
	case isPlacement(of.Of):
		sp.Cluster.each(visit)
		for _, n := range sp.Namespaces {
			n.each(visit)
		}
	default:
		k := store.Key{Space: of.Space, Group: of.Of.Group, Resource: of.Of.Resource, Namespace: of.Of.Namespace,
			Name: of.Of.Name}
		if o := c.Find(k); o != nil {
			visit(o)
		}
	}
}

// Known takes over the Binding of a group whose holder has come. The lock must be held.
func (c *Catalog) Known(g *Group) {
	g.Record = nil
	if u := c.Records.Units[g.ID()]; u != nil && g.ID() != "" {
		g.Record = u.On
	}
}

// scopes reports whether scope visits an object of the space.
func (of Stored) scopes(o *Object) bool {
	switch {
	case of.Of.Group == "" && of.Of.Resource == "namespaces":
		return o.Namespace.Name == of.Of.Name
	case isPlacement(of.Of):
		return true
	}
	return UnitOf(o.Key()) == of.Of
}
