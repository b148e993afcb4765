package binding_test

import (
	"fmt"
	"slices"

	. "skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store"
)

// The size of the small world.
const (
	slots   = 3 // names of SyncTargets
	books   = 2 // names of Placements
	things  = 3 // names of objects
	mostIDs = 24
)

// wish is what somebody writes at a Namespace, a Placement or an object.
type wish struct {
	kind  wishKind
	names uint8 // slots, as bits
	count int   // how many of all targets
}

type wishKind uint8

const (
	silent wishKind = iota // no opinion
	nowhere
	byName
	anyOf
)

// targetRow is a SyncTarget.
type targetRow struct {
	id      TargetID
	leave   Leave
	cordon  bool
	touched uint64 // rises with each write
}

// bookRow is a Placement; the row of the Namespace has no more than uid and wish.
type bookRow struct {
	uid        UnitID
	wish       wish
	last       wish // before it was nowhere
	breakFirst bool
	suspended  bool
	hooks      uint8 // how many run before a target is left
}

// thingRow is an object.
type thingRow struct {
	uid     ObjectID
	own     uint8                    // the slot of its label plus one
	app     uint8                    // the Placements that select it, as bits
	last    struct{ own, app uint8 } // before somebody changed them
	stamp   UnitID
	once    bool
	leased  bool // it must not run twice because of a target that is away; else it moves as anything
	runs    bool // it runs to its end once it has begun
	ended   bool
	version uint64
	mod     int64
	// admitted are the targets of its unit when the leader of an era admitted it, as bits.
	admitted uint64
	era      store.Era
}

type bindingRow struct {
	Binding
	mod int64
}

type cohortRow struct {
	Cohort
	mod int64
}

// state is a snapshot of the store. It is never changed.
type state struct {
	rev      int64
	targets  [slots]targetRow
	ns       bookRow
	books    [books]bookRow
	things   [things]thingRow
	bindings []bindingRow
	cohorts  []cohortRow
	term     Term
	termMod  int64
}

// what a write changed.
type changed uint8

const (
	ofUser changed = iota
	ofThing
	ofBinding
	ofCohort
	ofTerm
)

// event is a write as watches see it.
type event struct {
	*state
	what changed
	unit UnitID
	seq  uint64
}

func (s *state) target(id TargetID) *targetRow {
	for i := range s.targets {
		if s.targets[i].id == id && id != 0 {
			return &s.targets[i]
		}
	}
	return nil
}

func (s *state) binding(id UnitID) *bindingRow {
	for i := range s.bindings {
		if s.bindings[i].Unit == id {
			return &s.bindings[i]
		}
	}
	return nil
}

func (s *state) cohort(seq uint64) *cohortRow {
	for i := range s.cohorts {
		if s.cohorts[i].Seq == seq {
			return &s.cohorts[i]
		}
	}
	return nil
}

// book returns the row of a unit that is the Namespace or a Placement.
func (s *state) book(id UnitID) *bookRow {
	if s.ns.uid == id {
		return &s.ns
	}
	for i := range s.books {
		if s.books[i].uid == id && id != "" {
			return &s.books[i]
		}
	}
	return nil
}

func (s *state) thing(id ObjectID) *thingRow {
	for i := range s.things {
		if s.things[i].uid == id && id != "" {
			return &s.things[i]
		}
	}
	return nil
}

// StampOf implements Alive.
func (s *state) StampOf(o ObjectID) (UnitID, bool) {
	if t := s.thing(o); t != nil {
		return t.stamp, true
	}
	return "", false
}

// wished is the unit that should decide about an object: its own label, a Placement, its Namespace.
func (s *state) wished(t *thingRow) UnitID {
	if t.own != 0 {
		return UnitID(t.uid)
	}
	for i := range s.books {
		if s.books[i].uid != "" && t.app&(1<<i) != 0 {
			return s.books[i].uid
		}
	}
	return s.ns.uid
}

// wishOf is the wish of a unit.
func (s *state) wishOf(id UnitID) wish {
	if b := s.book(id); b != nil {
		return b.wish
	}
	if t := s.thing(ObjectID(id)); t != nil && t.own != 0 {
		return wish{kind: byName, names: 1 << (t.own - 1)}
	}
	return wish{}
}

// fits reports whether a wish names a target.
func (w wish) fits(slot int) bool {
	return w.kind == anyOf || w.kind == byName && w.names&(1<<slot) != 0
}

// copies is how many targets the wish asks for at most.
func (w wish) copies() int {
	switch w.kind {
	case anyOf:
		return w.count
	case byName:
		n := 0
		for i := range slots {
			n += int(w.names>>i) & 1
		}
		return n
	}
	return 0
}

// choose picks targets as placement.Choose does: what is in use stays.
func (s *state) choose(w wish, now Record, gaveUp func(TargetID) bool) (Wish, []TargetID) {
	switch w.kind {
	case silent:
		return NoOpinion, nil
	case nowhere:
		return Nowhere, nil
	}
	var out []TargetID
	most := w.copies()
	take := func(ok func(slot int, t *targetRow) bool) {
		for i := range s.targets {
			t := &s.targets[i]
			if t.id != 0 && w.fits(i) && t.leave == MayStay && len(out) < most && !slices.Contains(out, t.id) && ok(i, t) {
				out = append(out, t.id)
			}
		}
	}
	staying := now.Staying()
	take(func(_ int, t *targetRow) bool { return slices.Contains(staying, t.id) })
	take(func(_ int, t *targetRow) bool { return now.Has(t.id) && !gaveUp(t.id) })
	take(func(_ int, t *targetRow) bool { return !t.cordon && !gaveUp(t.id) })
	take(func(_ int, t *targetRow) bool { return !t.cordon })
	if len(out) == 0 {
		return NoOpinion, nil
	}
	return Somewhere, out
}

// allowed are the targets that a wish may choose, as bits of their IDs.
func (s *state) allowed(w wish) (bits uint64) {
	for i := range s.targets {
		if s.targets[i].id != 0 && w.fits(i) {
			bits |= 1 << s.targets[i].id
		}
	}
	return bits
}

// around are the targets where an object of a unit may be made.
func (s *state) around(id UnitID) uint64 {
	may := s.allowed(s.wishOf(id))
	if b := s.binding(id); b != nil {
		for _, here := range b.Here() {
			may |= 1 << here
		}
	}
	return may
}

// feeds says of each object which targets have it in their feeds. It is F(snapshot).
func feeds(s *state, x *Index) (out [things]uint64) {
	for i := range s.things {
		t := &s.things[i]
		if t.uid == "" {
			continue
		}
		for _, p := range x.Record(x.Of(t.uid, t.stamp)).Places {
			if !p.Off && s.target(p.Target) != nil {
				out[i] |= 1 << p.Target
			}
		}
	}
	return out
}

// indexOf makes the index of a snapshot, as a start of the center does.
func indexOf(s *state) *Index {
	x := NewIndex()
	x.SetTerm(s.term)
	for _, b := range s.bindings {
		x.PutBinding(b.Binding, s.rev)
	}
	for _, c := range s.cohorts {
		x.PutCohort(c.Cohort, s.rev)
	}
	return x
}

// apply takes over an event.
func apply(x *Index, e event) {
	switch e.what {
	case ofTerm:
		x.SetTerm(e.term)
	case ofBinding:
		if b := e.binding(e.unit); b != nil {
			x.PutBinding(b.Binding, e.rev)
		} else {
			x.DeleteBinding(e.unit)
		}
	case ofCohort:
		if c := e.cohort(e.seq); c != nil {
			x.PutCohort(c.Cohort, e.rev)
		} else {
			x.DeleteCohort(e.seq)
		}
	}
}

// world is the store, the clusters, the processes and the clock.
type world struct {
	log    []event
	now    int64
	sites  map[TargetID]*site
	leader *leader
	flying []*attempt // writes of users and of leaders that nobody waits for any more
	runs   []*hookRun
	serial int
	ids    TargetID
	check  *checker
	tale   func(format string, args ...any)
}

func (w *world) head() *state { return w.log[len(w.log)-1].state }

// commit stores a changed copy of the head.
func (w *world) commit(e event, by *attempt, change func(*state)) {
	before := w.log[len(w.log)-1]
	next := *before.state
	next.rev++
	change(&next)
	e.state = &next
	w.log = append(w.log, e)
	w.check.written(before.state, e, by)
}

// user is a write of a person: nothing guards it.
func (w *world) user(change func(*state)) { w.commit(event{what: ofUser}, nil, change) }

func (w *world) uid(prefix string) string {
	w.serial++
	return fmt.Sprint(prefix, w.serial)
}

func (w *world) era() store.Era {
	w.serial++
	return store.Era(w.serial)
}

// storeEra is for tables.
func storeEra(n int) store.Era { return store.Era(n) }
