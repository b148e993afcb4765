package binding_test

import (
	"fmt"

	. "skerry.dev/skerry/server/binding"
)

// shop is the state of the worked example in README.md.
type shop struct {
	x        *Index
	revision int64
}

func (s *shop) binding(b Binding) {
	s.revision++
	s.x.PutBinding(b, s.revision)
	fmt.Println(b.Unit, brief(b.Record))
}

func (s *shop) cohort(c Cohort) {
	s.revision++
	s.x.PutCohort(c, s.revision)
	fmt.Println("cohort", c.Seq, "to", c.To, brief(c.Record), c.Arrived)
}

func brief(r Record) string {
	text := ""
	for _, p := range r.Places {
		text += fmt.Sprintf(" %d", p.Target)
		if p.For != 0 {
			text += fmt.Sprintf(" for %d", p.For)
		}
		if p.Leaving != Stays {
			text += " leaving"
		}
	}
	return text
}

// lookAt has the facts of one look: where it is wished, and which targets are ready.
func lookAt(where TargetID, ready ...TargetID) Facts {
	f := Facts{Now: 1, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{where}, Targets: targets(5, 7, 9)}
	for i := range f.Targets {
		for _, t := range ready {
			if f.Targets[i].ID == t {
				f.Targets[i].State = Ready
			} else {
				f.Targets[i].Dispensable = true
			}
		}
	}
	return f
}

// The worked example of README.md.
func Example() {
	s := &shop{x: NewIndex()}
	s.x.SetTerm(Term{}.Take(1).Opened())
	c := Subject{ID: "c", Wished: "N"}
	step := func(unit UnitID, f Facts) {
		b, _ := s.x.Binding(unit)
		s.binding(Binding{Unit: unit, Record: withEra(Next(b.Record, f))})
	}
	where := func() { fmt.Println("  feeds:", s.x.Record(s.x.Of(c.ID, c.Stamp)).Here()) }

	step("N", lookAt(7))
	c.Stamp = "N"
	where()
	step("N", lookAt(9))
	where()
	step("N", lookAt(9, 9))
	where()

	c.Wished = "C" // a label of its own
	step("C", lookAt(5))
	fmt.Println("cut off:", s.x.Pass(c) == Divide)
	one := Cut(1, s.x.Record(s.x.Of("c", "N")), "C", []ObjectID{"c"}, 1)
	one.Record = Next(one.Record, lookAt(5))
	s.cohort(one)
	where()

	c.Wished = "N" // the label is taken off again
	two := Cut(2, s.x.Record(s.x.Of("c", "N")), "N", []ObjectID{"c"}, 1)
	two.Record = Next(two.Record, lookAt(9, 9))
	s.cohort(two)
	where()
	n, _ := s.x.Binding("N")
	two, _ = two.Arrive(n)
	s.cohort(two)
	where()
	fmt.Println("done:", s.x.Done(1, stamps{"c": "N"}), s.x.Done(2, stamps{"c": "N"}))
	s.x.DeleteCohort(1)
	fmt.Println("done:", s.x.Done(2, stamps{"c": "N"}))
	s.x.DeleteCohort(2)
	where()
	// Output:
	// N  7
	//   feeds: [7]
	// N  7 leaving 9 for 7
	//   feeds: [7 9]
	// N  9
	//   feeds: [9]
	// C  5
	// cut off: true
	// cohort 1 to C  9 leaving 5 for 9 false
	//   feeds: [9 5]
	// cohort 2 to N  9 false
	//   feeds: [9]
	// cohort 2 to N  true
	//   feeds: [9]
	// done: true false
	// done: true
	//   feeds: [9]
}

func withEra(r Record) Record {
	r.Era = 1
	return r
}

type stamps map[ObjectID]UnitID

// StampOf implements Alive.
func (s stamps) StampOf(o ObjectID) (UnitID, bool) {
	stamp, ok := s[o]
	return stamp, ok
}
