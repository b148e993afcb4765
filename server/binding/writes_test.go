package binding_test

import (
	"testing"

	. "skerry.dev/skerry/server/binding"
)

// TestWrites counts what is written when all sites answer. Stamps are written when there is time,
// and records that nothing needs are deleted later.
func TestWrites(t *testing.T) {
	type writes struct{ users, bindings, cohorts, stamps int }
	w := newWorld(func(string, ...any) {})
	count := func(do func(*state)) (n writes) {
		from := len(w.log)
		w.user(do)
		for range 6 {
			w.round()
		}
		for _, e := range w.log[from:] {
			switch e.what {
			case ofUser:
				n.users++
			case ofBinding:
				n.bindings++
			case ofCohort:
				n.cohorts++
			case ofThing:
				n.stamps++
			}
		}
		return n
	}
	ns := w.head().ns.uid
	name := func(slot uint8) wish { return wish{kind: byName, names: 1 << slot} }
	create := func(i int, uid ObjectID, stamp UnitID, app uint8) func(*state) {
		return func(s *state) { s.things[i] = thingRow{uid: uid, stamp: stamp, version: 1, app: app} }
	}
	w.round()
	for _, c := range []struct {
		what string
		do   func(*state)
		want writes
	}{
		{"the first object of a Namespace", create(0, "a", ns, 1), writes{1, 1, 0, 0}},
		{"an object", create(1, "b", ns, 1), writes{1, 0, 0, 0}},
		{"an object through a follower", create(2, "c", "", 0), writes{1, 0, 0, 1}},
		{"the Namespace moves", func(s *state) { s.ns.wish = name(1) }, writes{1, 2, 0, 0}},
		{"an object gets a label of its own", func(s *state) { s.things[2].own = 3; s.things[2].mod = s.rev },
			writes{1, 1, 2, 1}},
		{"a Placement is made that selects two", func(s *state) { s.books[0] = bookRow{uid: "p", wish: name(0)} },
			writes{1, 1, 2, 2}},
		{"it moves", func(s *state) { s.books[0].wish = name(2) }, writes{1, 2, 0, 0}},
		{"it is deleted", func(s *state) { s.books[0] = bookRow{} }, writes{1, 0, 2, 2}},
		{"two objects that must run once", func(s *state) {
			s.things[0] = thingRow{uid: "d", version: 1, once: true}
			s.things[1] = thingRow{uid: "e", version: 1, once: true}
		}, writes{1, 0, 2, 2}},
	} {
		if got := count(c.do); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}
