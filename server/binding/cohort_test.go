package binding_test

import (
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const propArrival = "a cohort arrives where its unit is, and nobody else can move that"

// TestACohortArrives holds when a cohort is another name of its unit.
func TestACohortArrives(t *testing.T) {
	at := func(p ...Place) Record { return Record{Era: 2, Generation: 5, Places: p} }
	deposed := at(Place{Target: 7})
	deposed.Era = 1
	for what, c := range map[string]struct {
		cohort, unit Record
		arrives      bool
	}{
		"at the same place": {at(Place{Target: 7}), at(Place{Target: 7}), true},
		"in another order":  {at(Place{Target: 7}, Place{Target: 8}), at(Place{Target: 8}, Place{Target: 7}), true},
		"elsewhere":         {at(Place{Target: 7}), at(Place{Target: 8}), false},
		"at one of two":     {at(Place{Target: 7}), at(Place{Target: 7}, Place{Target: 8}), false},
		"on its way": {at(Place{Target: 7, For: 8}, Place{Target: 8, Leaving: Replaced}),
			at(Place{Target: 7}, Place{Target: 8}), false},
		"where the unit is on its way":                   {at(Place{Target: 7}), at(Place{Target: 7, Leaving: Drained}), false},
		"where something is not left":                    {at(Place{Target: 7}, Place{Target: 8, Off: true, Leaving: Withdrawn}), at(Place{Target: 7}), false},
		"where a deposed leader can still move the unit": {at(Place{Target: 7}), deposed, false},
	} {
		cut := Cut(3, c.cohort, "u", []ObjectID{"b", "a"}, 2)
		got, arrives := cut.Arrive(Binding{Unit: "u", Record: c.unit})
		if arrives != c.arrives || got.Arrived != c.arrives {
			t.Errorf("%s: %s: %v %+v", propArrival, what, arrives, got)
		}
	}
}

const propAim = "what must run once follows its unit at rest only"

// TestACohortAims says what a cohort wishes while its unit is as it is.
func TestACohortAims(t *testing.T) {
	moving := []Place{{Target: 7, Leaving: Replaced}, {Target: 9, For: 7}}
	waits := []Place{{Target: 7}, {Target: 9, Leaving: Withdrawn, Since: 100}}
	for what, c := range map[string]struct {
		unit        []Place
		wish        Wish
		once, rests bool
		want        Wish
		wanted      []TargetID
	}{
		"a unit that is nowhere":        {nil, NoOpinion, false, true, NoOpinion, nil},
		"a unit that shall be nowhere":  {moving, Nowhere, true, false, Nowhere, nil},
		"a unit that moves":             {moving, Somewhere, false, false, Somewhere, []TargetID{9}},
		"once, a unit at rest":          {places(7), Somewhere, true, true, Somewhere, []TargetID{7}},
		"once, a unit before a change":  {places(7), Somewhere, true, false, NoOpinion, nil},
		"once, a unit that moves":       {moving, Somewhere, true, false, NoOpinion, nil},
		"once, a unit that waits":       {waits, Somewhere, true, true, NoOpinion, nil},
		"once, a unit nobody wishes":    {places(7), NoOpinion, true, true, Somewhere, []TargetID{7}},
		"once, a unit that may go back": {[]Place{{Target: 7, Off: true}}, Somewhere, true, true, NoOpinion, nil},
	} {
		f := Facts{Wish: Somewhere, Wanted: []TargetID{1}}
		Cohort{}.Aim(&f, Binding{Unit: "u", Record: Record{Places: c.unit}}, c.wish, c.once, c.rests)
		if f.Wish != c.want || !slices.Equal(f.Wanted, c.wanted) {
			t.Errorf("%s: %s: %d %v", propAim, what, f.Wish, f.Wanted)
		}
	}
}

const propCut = "a cut forgets targets where its members may never have been"

// TestACut takes the places of a record as they are, but for what the record might return to.
func TestACut(t *testing.T) {
	from := Record{Era: 1, Generation: 7, Places: []Place{
		{Target: 3, For: 1, Since: 100}, {Target: 5, Leaving: Replaced, Since: 200, Hooks: Hooks{Began: 150, Ran: 1}},
		{Target: 6, For: 5, Since: 100}, {Target: 8, For: 2, Off: true, Leaving: Replaced, Since: 100}}}
	want := []Place{{Target: 3}, {Target: 5, Leaving: Replaced}, {Target: 6, For: 5, Since: 100},
		{Target: 8, Off: true, Leaving: Replaced, Since: 100}}
	c := Cut(9, from, "u", []ObjectID{"b", "a"}, 2)
	if !slices.Equal(c.Places, want) || c.Generation != 1 || c.Era != 2 || c.Seq != 9 || c.To != "u" ||
		!slices.Equal(c.Members, []ObjectID{"a", "b"}) || from.Places[0].For != 1 {
		t.Errorf("%s: %+v", propCut, c)
	}
}

const propForget = "what is deleted decides nothing"

// TestADeletedCohortDecidesNothing has the one before decide again, and at last the stamp.
func TestADeletedCohortDecidesNothing(t *testing.T) {
	x := NewIndex()
	x.SetTerm(Term{}.Take(2).Opened())
	for seq := range uint64(2) {
		x.PutCohort(Cut(seq+1, Record{}, "u", []ObjectID{"o"}, 2), 1)
	}
	for _, c := range []struct {
		deleted uint64
		want    Ref
	}{{2, Ref{Cohort: 1}}, {1, Ref{Unit: "f"}}} {
		x.DeleteCohort(c.deleted)
		if got := x.Of("o", "f"); got != c.want {
			t.Errorf("%s: without cohort %d it is with %v, want %v", propForget, c.deleted, got, c.want)
		}
	}
}

// TestATermIsInherited says which eras' cohorts count while leaders follow each other.
func TestATermIsInherited(t *testing.T) {
	of := func(era int) *Cohort { c := Cut(1, Record{}, "u", nil, 0); c.Era = storeEra(era); return &c }
	first := Term{}.Take(1)
	second := first.Take(2) // the first was never opened
	third := second.Opened().Take(3)
	for _, c := range []struct {
		what   string
		term   Term
		era    int
		counts bool
	}{
		{"its own", first, 1, true},
		{"an unknown one", first, 9, false},
		{"that of a leader that never opened its term", second, 1, true},
		{"that of the last leader, once it is open", second.Opened(), 1, false},
		{"that of the last leader, before", third, 2, true},
		{"that of the last but one", third, 1, false},
	} {
		if got := c.term.Counts(of(c.era)); got != c.counts {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
