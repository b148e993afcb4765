package binding_test

import (
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const propLease = "a lease that has ended lets it go on elsewhere, and nothing else does"

// fencing is a record in a world of targets 1 to 3, of which the first is away.
type fencing struct {
	t *testing.T
	r Record
	f Facts
}

func (x *fencing) step(what string, want ...Place) {
	x.t.Helper()
	for range 3 { // until it is at rest
		x.f.Observe(x.r, 1, silence{})
		x.r = Next(x.r, x.f)
	}
	got := slices.Clone(x.r.Places)
	for i := range got {
		got[i].Since = 0
	}
	if !slices.Equal(got, want) {
		x.t.Fatalf("%s: %s: %+v, want %+v", propLease, what, got, want)
	}
}

// silence is of targets that confirm and report nothing, but the first, which is away.
type silence struct{}

func (silence) Counts(t TargetID) bool { return t != 1 }
func (silence) Word(t TargetID, _ int) Word {
	return map[bool]Word{true: NoWord, false: Unavailable}[t == 1]
}

func away(t *testing.T, here ...TargetID) *fencing {
	f := Facts{Now: 1_000, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{2}, Once: true, Targets: targets(1, 2, 3)}
	f.Targets[0].Fence = MayRun
	return &fencing{t, Record{Places: places(here...)}, f}
}

// TestALeaseIsWaitedFor has a unit leave a target that is away. No time lets it go on, and no time takes it
// back.
func TestALeaseIsWaitedFor(t *testing.T) {
	x := away(t, 1)
	left := Place{Target: 1, Off: true, Leaving: Replaced}
	x.step("it leaves the feed first", left)
	if w := Waits(x.r, x.f); len(w) != 1 || w[0] != (Wait{For: WaitAbsent, Target: 1}) {
		t.Errorf("it waits for %+v", w)
	}
	x.f.Now += 10_000
	x.step("no time is over", left)
	x.f.Wanted = []TargetID{3}
	x.step("another wish makes no difference", left)
	x.f.Wish, x.f.Wanted = Nowhere, nil
	x.step("nor does none", Place{Target: 1, Off: true, Leaving: Withdrawn})
	x.f.Wish, x.f.Wanted = Somewhere, []TargetID{2}
	x.step("what was withdrawn is not gone", Place{Target: 1, Off: true, Leaving: Withdrawn})
	x.f.Targets[0].Fence = RunsNot
	x.step("the lease has ended", Place{Target: 2})
	x.f.Now += 10_000
	x.step("there is no way back", Place{Target: 2})
}

// TestALeaseThatEndsReplaces ends the lease of a target that is to be replaced.
func TestALeaseThatEndsReplaces(t *testing.T) {
	x := away(t, 1)
	x.step("it leaves the feed first", Place{Target: 1, Off: true, Leaving: Replaced})
	x.f.Targets[0].Fence = RunsNot
	x.step("the lease has ended", Place{Target: 2})
	x.f.Now += 10_000
	x.step("2 is late, and there is no way back", Place{Target: 2})
	if len(x.r.GaveUp) > 0 {
		t.Errorf("it gave up %v", x.r.GaveUp)
	}
}

// TestAWishTakesItBack wishes the target again that is away, while nothing is elsewhere.
func TestAWishTakesItBack(t *testing.T) {
	x := away(t, 1)
	x.step("it leaves the feed first", Place{Target: 1, Off: true, Leaving: Replaced})
	x.f.Wanted = []TargetID{1}
	x.step("it is wished again", Place{Target: 1})
}

// TestATargetThatIsBackConfirms lets a target come back before its lease has ended. It has to say itself
// that nothing is left.
func TestATargetThatIsBackConfirms(t *testing.T) {
	x := away(t, 1)
	left := Place{Target: 1, Off: true, Leaving: Evicted}
	x.f.Targets[0].Leave = Evict
	x.step("it leaves the feed", left)
	x.f.Targets[0].Fence = Speaks
	x.step("it is back, and has said nothing", left)
	x.f.Targets[0].State = Absent
	x.r = Next(x.r, x.f)
	x.step("it has confirmed", Place{Target: 2})
}

// TestWhatExistsOnceIsNowhereBetween leaves one of two targets, on which something is that exists once.
// The other one does not get it before the lease has ended.
func TestWhatExistsOnceIsNowhereBetween(t *testing.T) {
	x := away(t, 1, 2)
	x.r.Places[0].Sole = true
	x.f.Singles = true
	x.f.Targets[0].Leave = Drain
	x.step("nothing covers it", Place{Target: 1, Leaving: Drained, Sole: true}, Place{Target: 2})
	x.f.Targets[1].State = Ready
	x.r = Next(x.r, x.f)
	x.step("it is between", Place{Target: 1, Off: true, Leaving: Drained, Sole: true}, Place{Target: 2})
	x.f.Targets[0].Fence = RunsNot
	x.step("the lease has ended", Place{Target: 2, Sole: true})
}

// TestWhatCameLastIsNowhereBetween is the same of what came after the last step, so that no place is marked.
func TestWhatCameLastIsNowhereBetween(t *testing.T) {
	x := away(t, 1, 2)
	x.f.Singles = true
	x.f.Targets[0].Leave, x.f.Targets[1].State = Drain, Ready
	x.r = Next(x.r, x.f)
	x.step("it is between", Place{Target: 1, Off: true, Leaving: Drained, Sole: true}, Place{Target: 2})
}

// TestWhatWasToComeIsWaitedForToo has a move end elsewhere after the target that was to come went away. It
// may run there, so nothing begins before that is known.
func TestWhatWasToComeIsWaitedForToo(t *testing.T) {
	x := away(t, 2)
	left := Place{Target: 2, Off: true, Leaving: Replaced}
	lost := Place{Target: 1, For: 2, Off: true, Leaving: Withdrawn}
	x.r.Places = []Place{left, lost}
	x.f.Wanted = []TargetID{3}
	x.step("nothing is known", left, lost)
	x.f.Targets[1].State = Absent
	x.r = Next(x.r, x.f)
	x.step("it is gone where it was", left, lost)
	x.f.Targets[0].Fence, x.f.Targets[1].State = Speaks, Absent
	x.r = Next(x.r, x.f)
	x.step("what was to come is back, and has not confirmed", left, lost)
	x.f.Targets[0] = Target{ID: 1, State: Absent}
	x.r = Next(x.r, x.f)
	x.f.Targets[1].State = Absent
	x.r = Next(x.r, x.f)
	if here := x.r.Here(); !slices.Equal(here, []TargetID{3}) {
		t.Fatalf("after both have confirmed it is on %v: %+v", here, x.r.Places)
	}
}

// TestALeaseOfATargetThatWasLeftIsWaitedFor has a unit move on from the target that it has come to, while the
// one that it came from is away and may run it. It stays where it is, and begins nowhere else.
func TestALeaseOfATargetThatWasLeftIsWaitedFor(t *testing.T) {
	x := away(t, 2)
	lost := Place{Target: 1, Off: true, Leaving: Withdrawn}
	x.r.Places = append([]Place{lost}, x.r.Places...)
	x.f.Wanted = []TargetID{3}
	x.step("it stays where it is", lost, Place{Target: 2})
	taken := x.r
	taken.Places = []Place{lost, {Target: 2, Off: true, Leaving: Replaced}}
	other := fencing{t, taken, x.f}
	other.f.Targets = slices.Clone(x.f.Targets)
	for _, wanted := range []TargetID{3, 2} {
		other.f.Targets[1].State, other.f.Wanted = Absent, []TargetID{wanted}
		other.r = Next(other.r, other.f)
		if here := other.r.Here(); len(here) > 0 {
			t.Fatalf("%s: it begins on %v, and may run on 1", propLease, here)
		}
	}
	x.f.Targets[0].Fence = RunsNot
	x.step("the lease has ended", Place{Target: 2, Off: true, Leaving: Replaced})
}

// TestALeaseOfATargetThatIsToBeLeftIsWaitedFor has one of two targets confirm that nothing is left, while the
// other one, which is not wanted either, is away and may run it.
func TestALeaseOfATargetThatIsToBeLeftIsWaitedFor(t *testing.T) {
	x := away(t, 1)
	x.r.Places = append(x.r.Places, Place{Target: 2, Off: true, Leaving: Replaced})
	x.f.Wanted = []TargetID{3}
	x.f.Targets[1].State = Absent
	x.r = Next(x.r, x.f)
	lost, left := Place{Target: 1, Off: true, Leaving: Withdrawn}, Place{Target: 2, Off: true, Leaving: Replaced}
	x.step("both are left, and nothing begins", lost, left)
	x.f.Targets[0].Fence, x.f.Targets[0].State, x.f.Targets[1].State = RunsNot, Absent, Absent
	x.r = Next(x.r, x.f)
	x.r = Next(x.r, x.f)
	if here := x.r.Here(); !slices.Equal(here, []TargetID{3}) {
		t.Fatalf("%s: the lease has ended, and it is on %v: %+v", propLease, here, x.r.Places)
	}
}
