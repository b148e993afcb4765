package binding_test

import (
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const propPass = "an object passes when nothing can undo it"

// TestPass says what is written first about an object that another unit wishes, in a space whose
// leader has era 2.
func TestPass(t *testing.T) {
	at := func(era int, p ...Place) Record { return Record{Era: storeEra(era), Places: p} }
	moving := []Place{{Target: 7, Leaving: Replaced}, {Target: 9, For: 7}}
	off := []Place{{Target: 7, Off: true, Leaving: Replaced}}
	for what, c := range map[string]struct {
		from, to *Record
		cohort   *Cohort
		object   Subject
		want     Pass
	}{
		"new, and its unit has no record yet": {object: Subject{Wished: "U"}, want: Later},
		"new":                                 {to: &Record{}, object: Subject{Wished: "U"}, want: Later},
		"new, while its unit moves":           {to: &Record{Places: moving}, object: Subject{Wished: "U"}, want: Later},
		"new, runs once, and its unit has no record yet": {object: Subject{Wished: "U", Once: true}, want: Divide},
		"new, runs once": {to: ptr(at(1, places(7)...)), object: Subject{Wished: "U", Once: true}, want: Divide},
		"new, runs once, while its unit may return": {to: &Record{Places: off},
			object: Subject{Wished: "U", Once: true}, want: Divide},
		"new, while its unit may return": {to: &Record{Places: off}, object: Subject{Wished: "U"}, want: NotYet},
		"new, and ended":                 {to: &Record{Places: places(7)}, object: Subject{Wished: "U", Ended: true}, want: Remains},
		"where it is wished":             {to: &Record{Places: places(7)}, object: Subject{Stamp: "U", Wished: "U"}, want: Remains},
		"with a unit that is nowhere": {from: ptr(at(2)), to: ptr(at(2, places(7)...)),
			object: Subject{Stamp: "F", Wished: "U"}, want: Divide},
		"with a unit that a deposed leader may still place": {from: ptr(at(1)), to: ptr(at(2, places(7)...)),
			object: Subject{Stamp: "F", Wished: "U"}, want: Own},
		"with a unit that has no record": {to: ptr(at(2, places(7)...)),
			object: Subject{Stamp: "F", Wished: "U"}, want: Own},
		"at the same place": {from: ptr(at(2, places(7)...)), to: ptr(at(1, places(7)...)),
			object: Subject{Stamp: "F", Wished: "U"}, want: Divide},
		"elsewhere": {from: ptr(at(2, places(7)...)), to: ptr(at(2, places(9)...)),
			object: Subject{Stamp: "F", Wished: "U"}, want: Divide},
		"elsewhere, and may be moved": {from: ptr(at(1, places(7)...)), to: ptr(at(2, places(9)...)),
			object: Subject{Stamp: "F", Wished: "U"}, want: Own},
		"ended": {from: ptr(at(2, places(7)...)), object: Subject{Stamp: "F", Wished: "F", Ended: true}, want: Divide},
		"on its way": {from: ptr(at(2, places(7)...)), cohort: &Cohort{To: "U"},
			object: Subject{Stamp: "F", Wished: "U"}, want: Remains},
		"arrived": {from: ptr(at(2, places(7)...)), cohort: &Cohort{To: "U", Arrived: true},
			object: Subject{Stamp: "F", Wished: "U"}, want: Later},
		"arrived, and stamped": {from: ptr(at(2, places(7)...)), cohort: &Cohort{To: "U", Arrived: true},
			object: Subject{Stamp: "U", Wished: "U"}, want: Remains},
		"on its way, and wished back": {from: ptr(at(2, places(7)...)), cohort: &Cohort{To: "U"},
			object: Subject{Stamp: "F", Wished: "F"}, want: Divide},
		"ended long ago": {from: ptr(at(2, places(7)...)), cohort: &Cohort{Ended: true, To: "F"},
			object: Subject{Stamp: "F", Wished: "U", Ended: true}, want: Remains},
	} {
		x := NewIndex()
		x.SetTerm(Term{}.Take(2).Opened())
		if c.from != nil {
			x.PutBinding(Binding{Unit: "F", Record: *c.from}, 1)
		}
		if c.to != nil {
			x.PutBinding(Binding{Unit: "U", Record: *c.to}, 1)
		}
		if c.cohort != nil {
			c.cohort.Seq, c.cohort.Members, c.cohort.Record = 1, []ObjectID{"o"}, at(2, places(7)...)
			x.PutCohort(*c.cohort, 1)
		}
		c.object.ID = "o"
		if got := x.Pass(c.object); got != c.want {
			t.Errorf("%s: %s: %d, want %d", propPass, what, got, c.want)
		}
	}
}

func ptr[T any](v T) *T { return &v }
