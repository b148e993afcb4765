package binding_test

import (
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const (
	propCopied = "nothing begins elsewhere before it has what the volumes hold"
	propNearly = "a target with volumes is not left before the rest is little"
)

// copyWorld has a unit with volumes on target 7 that is wished to be on 9.
type copyWorld struct {
	record   Record
	f        Facts
	old, new Target
}

func newCopyWorld() *copyWorld {
	return &copyWorld{record: Record{Places: places(7)}, old: Target{ID: 7, State: Ready}, new: Target{ID: 9},
		f: Facts{Now: 1, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{9}, Copies: true}}
}

// step takes steps until the record is at rest with what is known.
func (w *copyWorld) step(t *testing.T) Record {
	t.Helper()
	w.f.Targets = []Target{w.old, w.new}
	for range 12 {
		next := Next(w.record, w.f)
		if next.Equal(w.record) {
			return w.record
		}
		w.record = next
	}
	t.Fatalf("%+v does not come to rest with %+v", w.record, w.f)
	return Record{}
}

func (w *copyWorld) on(t *testing.T, id TargetID, off bool) {
	t.Helper()
	r := w.step(t)
	if len(r.Places) != 1 || r.Places[0].Target != id || r.Places[0].Off != off {
		t.Fatalf("at %d s, %d copied %d: %+v, want %d (off %t) alone", w.f.Now, w.new.ID, w.new.Copied, r, id, off)
	}
}

// TestVolumesAreCopiedBeforeAnythingBegins takes a move through its steps.
func TestVolumesAreCopiedBeforeAnythingBegins(t *testing.T) {
	w := newCopyWorld()
	w.on(t, 7, false)
	w.f.Now = 5_000 // however long the first rounds take
	w.on(t, 7, false)
	w.new.Copied = CopiedNearly
	w.on(t, 7, true)
	w.old.State = Unproven
	w.new.Copied = CopiedWhole // of before: something still runs
	w.on(t, 7, true)
	w.old.State, w.new.Copied = Absent, CopiedNearly
	w.on(t, 7, true)
	w.f.Copies = false // it is not known any more why it was left
	w.on(t, 7, true)
	w.new.Copied = CopiedWhole
	w.on(t, 9, false)
	if p := w.record.Places[0]; p.For != 7 || p.Copying {
		t.Errorf("%+v: it came for 7", p)
	}
	w.new.Pinned = true // what runs there writes
	w.f.Now += 601
	w.on(t, 9, false)
}

// TestACopyThatTakesTooLongGoesBack has the last round not end: all runs again where it was, and is not tried
// again before something is another.
func TestACopyThatTakesTooLongGoesBack(t *testing.T) {
	w := newCopyWorld()
	w.new.Copied = CopiedNearly
	w.on(t, 7, true)
	w.old.State = Absent
	w.f.Now += 599
	w.on(t, 7, true)
	w.f.Now += 2
	w.on(t, 7, false)
	if len(w.record.GaveUp) != 1 || w.record.GaveUp[0].Target != 9 {
		t.Errorf("%+v has not given up 9", w.record)
	}
	w.old.State = Ready
	w.f.Now += 5_000
	w.on(t, 7, false)
}

// TestTheOldWishEndsACopy takes the wish back in the middle.
func TestTheOldWishEndsACopy(t *testing.T) {
	w := newCopyWorld()
	w.new.Copied = CopiedNearly
	w.on(t, 7, true)
	w.f.Wanted = []TargetID{7}
	w.on(t, 7, false)
	if !w.record.Settled() || w.record.Places[0].Copying {
		t.Errorf("%+v is not at rest", w.record)
	}
}

// TestNoRecordBeginsWithoutItsVolumes takes any record and any facts.
func TestNoRecordBeginsWithoutItsVolumes(t *testing.T) {
	began, left := 0, 0
	for n := range 300_000 {
		r := random(n)
		record, f := anyRecord(&r), anyFacts(&r)
		if f.Empty || f.Ended || f.Wish != Somewhere {
			continue
		}
		next := Next(record, f)
		for _, p := range next.Places {
			fresh := !slices.ContainsFunc(record.Places, func(was Place) bool { return was.Target == p.Target })
			known, _ := targetOf(f, p.Target)
			from := slices.IndexFunc(record.Places, func(was Place) bool { return was.Copying && was.Target == p.For })
			if fresh && from >= 0 && !slices.ContainsFunc(next.Places, func(q Place) bool { return q.Target == p.For }) {
				left, exists := targetOf(f, p.For)
				if began++; known.Copied != CopiedWhole || exists && left.State != Absent {
					t.Fatalf("%s: %d: %+v -> %+v; %+v", propCopied, n, record, next, f)
				}
			}
			if p.Off && p.Copying && record.Has(p.Target) {
				if left++; !slices.ContainsFunc(f.Targets, func(t Target) bool { return t.Copied != CopiedNot }) {
					t.Fatalf("%s: %d: %+v -> %+v; %+v", propNearly, n, record, next, f)
				}
			}
		}
	}
	if began < 50 || left < 500 {
		t.Errorf("%d began, %d were left: too few", began, left)
	}
}

func targetOf(f Facts, id TargetID) (Target, bool) {
	for _, t := range f.Targets {
		if t.ID == id {
			return t, true
		}
	}
	return Target{}, false
}
