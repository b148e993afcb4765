package binding_test

import "testing"

// TestAWriteIsLate lets a unit get an object that must run once, and then move as its other object does. A
// write of before the move is stored between any two steps of it: one that a leader had in its hands when it
// died, or a stamp, for which no leader waits.
func TestAWriteIsLate(t *testing.T) {
	for what, deposed := range map[string]bool{"a deposed leader's write": true, "a stamp": false} {
		late := 0
		for before := range 8 {
			for after := range 8 {
				b := broke(func(string, ...any) {}, func(w *world) {
					ns := w.head().ns.uid
					w.user(func(s *state) { s.things[0] = thingRow{uid: "a", stamp: ns, version: 1} })
					w.round()
					w.user(func(s *state) { s.things[1] = thingRow{uid: "b", once: true, version: 1} })
					w.goOn(before, -1)
					switch l := w.leader; {
					case !l.work(0):
					case deposed:
						w.lead(nil)
						w.takeOver()
					case l.pending.stamps != "":
						l.letGo()
					}
					w.user(func(s *state) { s.ns.wish = wish{kind: byName, names: 2} })
					w.goOn(after, -1)
					late += len(w.flying)
					w.landLate(0)
					w.leader.catchUp(len(w.log))
					for _, s := range w.sites {
						s.sync(w.leader)
						for i := range things {
							w.act(s, i)
						}
					}
				})
				if b != nil {
					t.Errorf("%s, after %d others and after %d of the move: %s: %s", what, before, after, b.property, b.what)
				}
			}
		}
		if late == 0 {
			t.Error("never late: " + what)
		}
	}
}
