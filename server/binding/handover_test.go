package binding_test

import (
	"fmt"
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const propLast = "what comes last runs on one target at most, and where it is wished in the end"

// comesLast are the targets that have what comes last.
func comesLast(r Record) []TargetID {
	beside := r.Beside()
	return slices.DeleteFunc(r.Here(), func(t TargetID) bool { return slices.Contains(beside, t) })
}

// TestWhatComesLastRunsOnce moves a unit between four targets, at any time and also while it moves. Each target does
// what it is told, and says what it has, when it likes. What comes last never runs on two of them, the rest is never
// away from all but where it goes back, and in the end all is where it is wished.
func TestWhatComesLastRunsOnce(t *testing.T) {
	for n := range 4_000 {
		r := random(n)
		record := Record{Places: places(1)}
		runs, has := map[TargetID]bool{1: true}, map[TargetID]bool{1: true}
		stuck, drained := map[TargetID]bool{}, map[TargetID]bool{}
		f := Facts{Now: 1, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{1}, Once: true, HandsOver: true}
		var told []string
		back := false // it goes back to where it was
		act := func(id TargetID) { has[id], runs[id] = record.Has(id), slices.Contains(comesLast(record), id) }
		step := func() {
			f.Targets = targets(1, 2, 3, 4)
			for i := range f.Targets {
				id := f.Targets[i].ID
				at := slices.IndexFunc(record.Places, func(p Place) bool { return p.Target == id })
				switch {
				case at >= 0 && record.Places[at].Off && !has[id] && !runs[id]:
					f.Targets[i].State = Absent
				case at >= 0 && !record.Places[at].Off && has[id] && !stuck[id] &&
					runs[id] == slices.Contains(comesLast(record), id):
					f.Targets[i].State = Ready
				}
				f.Targets[i].Dispensable = at >= 0 && has[record.Places[at].For]
				f.Targets[i].Try = uint64(f.Now / 5_000)
				if drained[id] && !slices.Contains(f.Wanted, id) {
					f.Targets[i].Leave = Drain
				}
			}
			next := Next(record, f)
			check(t, record, next)
			told = append(told, fmt.Sprintf("%d: wish %v, runs %v, has %v: %+v", f.Now, f.Wanted, runs, has, next.Places))
			record = next
			on := 0
			for _, is := range runs {
				if is {
					on++
				}
			}
			if on > 1 {
				t.Fatalf("%s: history %d: %d run: %v", propLast, n, on, told[max(0, len(told)-12):])
			}
			here := len(record.Here()) > 0
			if back = !here && (back || len(record.GaveUp) > 0); !here && !back {
				t.Fatalf("%s: history %d: it is nowhere: %v", propLast, n, told[max(0, len(told)-12):])
			}
		}
		for range 60 {
			switch r.next() % 8 {
			case 0:
				f.Wanted = []TargetID{TargetID(1 + r.next()%4)}
			case 1:
				stuck[TargetID(1+r.next()%4)] = r.next()%2 == 0
			case 2:
				drained[TargetID(1+r.next()%4)] = r.next()%2 == 0
			case 3:
				f.Now += int64(r.next() % 700)
			default:
				act(TargetID(1 + r.next()%4))
			}
			f.Now++
			step()
		}
		clear(stuck)
		for range 60 {
			for id := TargetID(1); id <= 4; id++ {
				act(id)
			}
			f.Now += 200
			step()
		}
		if here := record.Here(); !slices.Equal(here, f.Wanted) || !record.Settled() || !runs[here[0]] {
			t.Fatalf("%s: history %d: it is on %v and not where it is wished: %v", propLast, n, here, told[max(0, len(told)-12):])
		}
	}
}

// TestTwoThatCameBeside leaves a target for which two others came, one of which is not wished any more and has what
// nobody else may have: only the other one gets what comes last.
func TestTwoThatCameBeside(t *testing.T) {
	f := Facts{Now: 1_000, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{2}, Once: true, HandsOver: true,
		Targets: targets(2, 3, 4)}
	f.Targets[2].State = Absent
	r := Record{Places: []Place{{Target: 4, Off: true, Leaving: Replaced, Since: 900}, {Target: 3, For: 4, Since: 900},
		{Target: 2, For: 4, Since: 900}}}
	if next := Next(r, f); !slices.Equal(comesLast(next), []TargetID{2}) {
		t.Errorf("%s: %+v", propLast, next)
	}
}
