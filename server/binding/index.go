package binding

import "slices"

// Index holds all records of a space and finds the one that decides about an object. It is fed with
// what is stored, in the order of the store. It does not lock.
type Index struct {
	term    Term
	units   map[UnitID]*unit
	cohorts map[uint64]*cohort
	named   map[ObjectID][]*cohort // by Seq, the newest last, with those that are void
	highest uint64                 // Seq of any cohort so far
}

type unit struct {
	Binding
	joined revisions
}

type cohort struct {
	Cohort
	joined revisions
}

// Ref names the record that decides about an object: a cohort, else the Binding of a unit. The zero
// Ref is of an object that was never placed.
type Ref struct {
	Cohort uint64
	Unit   UnitID
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{
		units:   map[UnitID]*unit{},
		cohorts: map[uint64]*cohort{},
		named:   map[ObjectID][]*cohort{},
	}
}

// SetTerm takes over whose cohorts count.
func (x *Index) SetTerm(t Term) { x.term = t }

// PutBinding takes over a Binding that was stored at a revision.
func (x *Index) PutBinding(b Binding, revision int64) {
	u := x.units[b.Unit]
	if u == nil {
		u = &unit{}
		x.units[b.Unit] = u
	}
	u.joined = u.joined.follow(u.Record, b.Record, revision)
	u.Binding = b
}

// DeleteBinding forgets a Binding.
func (x *Index) DeleteBinding(id UnitID) { delete(x.units, id) }

// PutCohort takes over a cohort that was stored at a revision.
func (x *Index) PutCohort(c Cohort, revision int64) {
	known := x.cohorts[c.Seq]
	if known != nil && !slices.Equal(known.Members, c.Members) {
		x.DeleteCohort(c.Seq)
		known = nil
	}
	x.highest = max(x.highest, c.Seq)
	if known == nil {
		known = &cohort{}
		x.cohorts[c.Seq] = known
		for _, o := range c.Members {
			x.named[o] = insert(x.named[o], known, c.Seq)
		}
	}
	if c.Arrived && !known.Arrived {
		x.joins(c.To, revision)
	}
	known.joined = known.joined.follow(known.Record, c.Record, revision)
	known.Cohort = c
}

// insert puts a cohort in the order of Seq; its own may not be set yet.
func insert(list []*cohort, c *cohort, seq uint64) []*cohort {
	i := len(list)
	for i > 0 && list[i-1].Seq > seq {
		i--
	}
	return slices.Insert(list, i, c)
}

// DeleteCohort forgets a cohort.
func (x *Index) DeleteCohort(seq uint64) {
	c := x.cohorts[seq]
	if c == nil {
		return
	}
	delete(x.cohorts, seq)
	for _, o := range c.Members {
		x.named[o] = slices.DeleteFunc(x.named[o], func(other *cohort) bool { return other == c })
		if len(x.named[o]) == 0 {
			delete(x.named, o)
		}
	}
}

// newest is the cohort that decides about an object, nil when none does.
func (x *Index) newest(o ObjectID) *cohort {
	list := x.named[o]
	for i := len(list) - 1; i >= 0; i-- {
		if x.term.Counts(&list[i].Cohort) {
			return list[i]
		}
	}
	return nil
}

// Of returns the record that decides about an object with a stamp: the newest cohort that names it,
// else the Binding of its stamp.
func (x *Index) Of(o ObjectID, stamp UnitID) Ref {
	switch c := x.newest(o); {
	case c == nil:
		return Ref{Unit: stamp}
	case c.Arrived:
		return Ref{Unit: c.To}
	default:
		return Ref{Cohort: c.Seq}
	}
}

// Names returns the newest cohort that names an object, arrived or not, 0 for none.
func (x *Index) Names(o ObjectID) uint64 {
	if c := x.newest(o); c != nil {
		return c.Seq
	}
	return 0
}

// Record returns what a Ref names; it is empty when nothing is stored.
func (x *Index) Record(r Ref) Record {
	if r.Cohort != 0 {
		if c := x.cohorts[r.Cohort]; c != nil {
			return c.Record
		}
		return Record{}
	}
	if u := x.units[r.Unit]; u != nil {
		return u.Record
	}
	return Record{}
}

// Binding returns the record of a unit.
func (x *Index) Binding(id UnitID) (Binding, bool) {
	u := x.units[id]
	if u == nil {
		return Binding{}, false
	}
	return u.Binding, true
}

// Cohort returns a cohort that counts.
func (x *Index) Cohort(seq uint64) (Cohort, bool) {
	c := x.cohorts[seq]
	if c == nil || !x.term.Counts(&c.Cohort) {
		return Cohort{}, false
	}
	return c.Cohort, true
}

// NextSeq returns the Seq of the next cohort: higher than that of each that was stored since the
// index was made. It is the same until the next one is stored, so that one is not made twice.
func (x *Index) NextSeq() uint64 { return x.highest + 1 }
