package placement

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var names = []string{"a", "b", "c", "d"}

func anyNames(t *rapid.T, label string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID[string]).Draw(t, label)
}

// TestAMoveNeverTakesAwayTheLastAvailableCopy plays whole histories: wishes change, targets become
// ready and unready and vanish, and after every step some target that was available and still
// exists must still have the group, unless a wanted one is available.

func TestChoosingIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w World
		for _, n := range anyNames(t, "targets") {
			w.Targets = append(w.Targets, Target{Name: n, Connected: rapid.Bool().Draw(t, "connected"),
				Unschedulable: rapid.Bool().Draw(t, "cordoned"), Objects: rapid.IntRange(0, 3).Draw(t, "objects")})
		}
		wish := Wish{Names: anyNames(t, "names"), Count: rapid.IntRange(0, 3).Draw(t, "count")}
		first := Choose(wish, w, anyNames(t, "current"))
		// whatever else changes about the targets, what was chosen stays chosen
		for i := range w.Targets {
			w.Targets[i].Objects = rapid.IntRange(0, 9).Draw(t, "later objects")
			w.Targets[i].Connected = rapid.Bool().Draw(t, "later connected")
		}
		slices.Reverse(w.Targets)
		if second := Choose(wish, w, first.Targets); !slices.Equal(first.Targets, second.Targets) {
			t.Fatalf("%v became %v", first.Targets, second.Targets)
		}
	})
}
