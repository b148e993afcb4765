package binding

import (
	"slices"

	"skerry.dev/skerry/store"
)

// Cohort is the record of objects that pass from one unit to another: a label comes or goes, a
// Placement is made or deleted. Its list of members is closed. It begins where they are, and is
// decided about by Next, as a unit is; it aims at the places of the unit that they pass to. When it
// has arrived it is another name of that unit, until the stamps of its members say so themselves. New
// objects that must run once begin so, too: they are nowhere then.
type Cohort struct {
	// Seq orders cohorts: of two that name an object, the one with the higher Seq decides. It is
	// the key of the record, so that a cohort which may have been stored is never stored twice.
	Seq uint64
	// To is the unit that the members pass to.
	To UnitID
	// Members are sorted.
	Members []ObjectID
	// Ended: the members are Jobs and Pods that have run to their end. The cohort stays.
	Ended bool
	// BreakFirst: a member must not be in two places.
	BreakFirst bool
	// Arrived: the members are where Binding To says.
	Arrived bool
	// Hooks is a unit that the members have left, whose hooks run before they leave a target where To
	// has none. It is empty where that had none, and To itself where they are Apart.
	Hooks UnitID
	Record
}

// Cut is the cohort of objects that pass from a record to a unit. They stay where they are. A
// target that the record has left already, and might return to, is forgotten: an object that came
// after that never was there.
func Cut(seq uint64, from Record, to UnitID, members []ObjectID, era store.Era) Cohort {
	c := Cohort{Seq: seq, To: to, Members: slices.Clone(members), Record: from.clone()}
	slices.Sort(c.Members)
	places := find(c.Places)
	for i := range c.Places {
		p := &c.Places[i]
		p.forgetHooks() // they run for the cohort alone
		if p.For != 0 && places.of(p.For) < 0 {
			if p.For = 0; !p.Off {
				p.Since = 0
			}
		}
	}
	c.Era, c.Generation = era, 1
	return c
}

// Apart reports whether the members were cut off from To itself, because they have begun. It leaves a target with
// its hooks for all, and they follow without.
func (c *Cohort) Apart() bool { return c.Hooks == c.To }

// Begin takes the first step of a cohort, with the write that makes it.
func (c Cohort) Begin(f Facts) Cohort {
	era := c.Era
	c.Record = Next(c.Record, f)
	c.Era, c.Generation = era, 1
	return c
}

// Step takes the next step of a cohort. Where that is where its unit is, it has arrived with the
// same write. What was cut off because it has begun stays Apart for as long as that runs: it would be cut off
// anew each time that the unit moves.
func (c Cohort) Step(f Facts, to Binding) Cohort {
	c.Record = Next(c.Record, f)
	if f.Begun && c.Apart() {
		return c
	}
	arrived, _ := c.Arrive(to)
	return arrived
}

// Aim is the wish of a cohort: the places of its unit that stay, or Nowhere where the unit's own
// wish is that. While the unit has no place, or what must run once would follow it through a change, it
// is no opinion: the members stay where they are. rests says that the unit would take no step now; one
// that waits takes none, and is in a change.
func (c Cohort) Aim(f *Facts, to Binding, wish Wish, once, rests bool) {
	f.Wish, f.Wanted = NoOpinion, nil
	if wish == Nowhere {
		f.Wish = Nowhere
	} else if staying := to.Staying(); len(staying) > 0 && (!once || rests && to.Settled()) {
		f.Wish, f.Wanted = Somewhere, staying
	}
}

// At reports whether the members are where the unit is, and nothing is on its way.
func (c *Cohort) At(to Binding) bool {
	return c.Arrived || c.Settled() && to.Settled() && c.SamePlaces(to.Record)
}

// Arrive returns the cohort as another name of its unit. It reports false while the members are not
// where the unit is, or one of both is on its way, or a deposed leader could still change one.
func (c Cohort) Arrive(to Binding) (Cohort, bool) {
	if c.Ended || c.Arrived || c.Era != to.Era || !c.At(to) {
		return c, false
	}
	c.Arrived, c.Record = true, Record{Era: c.Era, Generation: c.Generation}
	return c, true
}
