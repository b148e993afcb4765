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
func TestAMoveNeverTakesAwayTheLastAvailableCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var current []string
		ready := map[string]bool{} // where an available copy runs; only targets that have the group
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			gone := anyNames(t, "gone")
			wanted := without(anyNames(t, "wanted"), gone)
			for _, n := range names {
				ready[n] = slices.Contains(current, n) && rapid.Bool().Draw(t, "ready "+n)
			}
			s := State{Current: current, Wanted: wanted, Gone: gone, NotReady: map[string]string{}}
			for _, w := range wanted {
				if !ready[w] {
					s.NotReady[w] = "x"
				}
			}
			step := Next(s)
			left := func(list []string) (n int) {
				for _, t := range list {
					if ready[t] && !slices.Contains(gone, t) {
						n++
					}
				}
				return n
			}
			if left(current) > 0 && left(step.Decision) == 0 {
				t.Fatalf("%+v -> %+v took away the last available copy", s, step)
			}
			for _, d := range step.Decision {
				if slices.Contains(gone, d) {
					t.Fatalf("%+v -> %+v decides for a target that is gone", s, step)
				}
				if !slices.Contains(current, d) && !slices.Contains(wanted, d) {
					t.Fatalf("%+v -> %+v goes where nobody wants it", s, step)
				}
			}
			if len(wanted) > 0 && len(step.Decision) == 0 {
				t.Fatalf("%+v -> %+v is nowhere", s, step)
			}
			current = step.Decision
		}
	})
}

func TestAMoveArrivesAndStaysThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		current, wanted := anyNames(t, "current"), anyNames(t, "wanted")
		if len(wanted) == 0 {
			return
		}
		for range 3 { // all ready: at most two steps
			step := Next(State{Current: current, Wanted: wanted})
			again := Next(State{Current: current, Wanted: wanted})
			if !slices.Equal(step.Decision, again.Decision) || step.Phase != again.Phase {
				t.Fatalf("not deterministic: %+v %+v", step, again)
			}
			current = step.Decision
		}
		if !Same(current, wanted) {
			t.Fatalf("ended on %v instead of %v", current, wanted)
		}
		if step := Next(
			State{Current: current, Wanted: wanted, NotReady: map[string]string{wanted[0]: "x"}},
		); step.Phase != Settled ||
			!slices.Equal(step.Decision, current) {
			t.Fatalf("a settled group moved: %+v", step)
		}
	})
}

func TestNoVolumeIsLeftBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		current, wanted := anyNames(t, "current"), anyNames(t, "wanted")
		volumes := map[string][]string{}
		for _, n := range current {
			if rapid.Bool().Draw(t, "volume on "+n) {
				volumes[n] = []string{"persistentvolumeclaims/data"}
			}
		}
		step := Next(State{Current: current, Wanted: wanted, Volumes: volumes})
		for _, n := range without(current, step.Decision) {
			if len(volumes[n]) == 0 {
				continue
			}
			older := slices.ContainsFunc(current[:slices.Index(current, n)], func(o string) bool {
				return len(volumes[o]) > 0 && slices.Contains(step.Decision, o)
			})
			if !older {
				t.Fatalf("%v -> %+v left the volume on %s", current, step, n)
			}
		}
	})
}

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

// TestBreakBeforeMakeIsNeverInTwoPlaces plays whole histories: what a target has lags behind the
// decision, the wish changes, moves take too long. No target is given the group while one that has
// left the decision of its move still has it.
func TestBreakBeforeMakeIsNeverInTwoPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := func(label string) []string { return []string{rapid.SampledFrom(names).Draw(t, label)} }
		current, wanted := one("current"), one("wanted")
		has := map[string]bool{current[0]: true}
		var move *Move
		step := func(overdue bool) {
			s := State{
				Current:     current,
				Wanted:      wanted,
				BreakFirst:  true,
				Overdue:     overdue,
				Move:        move,
				Fingerprint: Join(wanted),
				NotReady:    map[string]string{},
				Unseen:      map[string]string{},
				Present:     map[string]string{},
			}
			for _, n := range names {
				if has[n] {
					s.Present[n] = "x"
				} else {
					s.Unseen[n], s.NotReady[n] = "x", "x"
				}
			}
			next := Next(s)
			for _, n := range without(next.Decision, current) {
				for _, other := range names {
					if has[other] && other != n && !slices.Contains(next.Decision, other) {
						t.Fatalf("%+v -> %+v: %s gets it while %s has it", s, next, n, other)
					}
				}
			}
			if len(next.Decision) > 1 {
				t.Fatalf("%+v -> %+v is in two places", s, next)
			}
			current, move = next.Decision, next.Move
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "new wish") == 0 {
				wanted = one("wanted")
			}
			n := rapid.SampledFrom(names).Draw(t, "catches up")
			has[n] = slices.Contains(current, n)
			step(rapid.IntRange(0, 3).Draw(t, "overdue") == 0)
		}
		for range 10 { // all catch up, nothing is late: it ends where it is wanted, or where the move that was given up came from
			for _, n := range names {
				has[n] = slices.Contains(current, n)
			}
			step(false)
		}
		if !Same(current, wanted) && (move == nil || move.GaveUp == "" || !Same(current, move.From)) {
			t.Fatalf("ended on %v, wanted %v, move %+v", current, wanted, move)
		}
	})
}
