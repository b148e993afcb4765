package binding_test

import (
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const (
	propPair  = "a bad target delays only its pair"
	propTries = "what was given up is not tried again without a change"
)

func targets(ids ...TargetID) (out []Target) {
	for _, id := range ids {
		out = append(out, Target{ID: id})
	}
	return out
}

func places(ids ...TargetID) (out []Place) {
	for _, id := range ids {
		out = append(out, Place{Target: id})
	}
	return out
}

// TestABadTargetDelaysOnlyItsPair moves units from some targets to others, of which some never get
// ready. Each pair ends as if it were alone.
func TestABadTargetDelaysOnlyItsPair(t *testing.T) {
	for n := range 2_000 {
		r := random(n)
		pairs := 2 + int(r.next()%5)
		var from, to []TargetID
		bad := map[TargetID]bool{}
		for i := range pairs {
			from, to = append(from, TargetID(1+i)), append(to, TargetID(101+i))
			bad[TargetID(101+i)] = r.next()%3 == 0
		}
		f := Facts{Now: 1, Timeout: 600, Wish: Somewhere, Wanted: to, BreakFirst: n%2 == 0}
		record := Record{Places: places(from...)}
		for range 30 {
			f.Targets = targets(append(slices.Clone(from), to...)...)
			for i := range f.Targets {
				target := &f.Targets[i]
				at := slices.IndexFunc(record.Places, func(p Place) bool { return p.Target == target.ID })
				switch {
				case at >= 0 && record.Places[at].Off:
					target.State = Absent
				case at >= 0 && !bad[target.ID]:
					target.State = Ready
				default:
					target.Dispensable = true
				}
			}
			record = Next(record, f)
			f.Now += 20
		}
		for i := range pairs {
			want, other := to[i], from[i]
			if bad[want] && !f.BreakFirst {
				want, other = other, want
				if !record.Has(want) {
					t.Fatalf("%s: %d has left %d, bad are %v: %+v", propPair, i, want, bad, record)
				}
				continue
			}
			if !record.Has(want) || record.Has(other) {
				t.Fatalf("%s: %d is not on %d alone, bad are %v: %+v", propPair, i, want, bad, record)
			}
		}
	}
}

// TestAStepIsPureAndEnds takes any record and any facts: the step is the same each time, the record
// is not changed in place, and with the same facts all comes to rest within a few steps.
func TestAStepIsPureAndEnds(t *testing.T) {
	for n := range 50_000 {
		r := random(n)
		record, f := anyRecord(&r), anyFacts(&r)
		before := Record{Generation: record.Generation, Places: slices.Clone(record.Places), GaveUp: slices.Clone(record.GaveUp)}
		next := Next(record, f)
		if !record.Equal(before) {
			t.Fatalf("%d: %+v was changed to %+v", n, before, record)
		}
		if again := Next(record, f); !again.Equal(next) {
			t.Fatalf("%d: %+v, then %+v", n, next, again)
		}
		steps := 0
		for ; !next.Equal(record); steps++ {
			if steps > 12 {
				t.Fatalf("%d: %+v does not come to rest with %+v: %+v", n, before, f, next)
			}
			check(t, record, next)
			record, next = next, Next(next, f)
		}
	}
}

// check holds what is true of every step.
func check(t *testing.T, from, to Record) {
	t.Helper()
	want := from.Generation
	if !from.SamePlaces(to) {
		want++
	}
	if to.Generation != want {
		t.Fatalf("%+v -> %+v: the generation is not %d", from, to, want)
	}
	for i, p := range to.Places {
		if slices.ContainsFunc(to.Places[:i], func(q Place) bool { return q.Target == p.Target }) {
			t.Fatalf("%+v -> %+v: %d is there twice", from, to, p.Target)
		}
		if p.For == p.Target || p.Off && p.Leaving == Stays {
			t.Fatalf("%+v -> %+v: %+v makes no sense", from, to, p)
		}
	}
}

func anyRecord(r *random) (out Record) {
	for id := TargetID(1); id <= 5; id++ {
		if r.next()%2 == 0 {
			continue
		}
		p := Place{Target: id, Since: uint32(r.next() % 3 * 500)}
		if f := TargetID(r.next() % 8); f <= 5 && f != id {
			p.For = f
		}
		if r.next()%4 == 0 {
			p.Off, p.Leaving = true, []Reason{Replaced, Withdrawn, Drained, Evicted}[r.next()%4]
			if p.Leaving == Replaced && r.next()%4 == 0 {
				p.For, p.Copying = 0, true
				out.Places = []Place{p} // such a record has no other place
				return out
			}
		}
		out.Places = append(out.Places, p)
	}
	if r.next()%4 == 0 {
		out.GaveUp = []GaveUp{{TargetID(1 + r.next()%5), uint64(r.next() % 2)}}
	}
	return out
}

func anyFacts(r *random) Facts {
	f := Facts{Now: 1000, Timeout: int64(1 + r.next()%1500), Wish: Wish(r.next() % 4 % 3), Suspended: r.next()%16 == 0,
		Empty: r.next()%16 == 0, Ended: r.next()%16 == 0, BreakFirst: r.next()%2 == 0, Copies: r.next()%8 == 0}
	for id := TargetID(1); id <= 5; id++ {
		if f.Wish == Somewhere && r.next()%2 == 0 {
			f.Wanted = append(f.Wanted, id)
		}
		if r.next()%8 == 0 {
			continue
		}
		f.Targets = append(f.Targets, Target{ID: id, State: State(r.next() % 3), Dispensable: r.next()%2 == 0,
			Leave: Leave(max(0, int(r.next()%8)-5)), Pinned: r.next()%8 == 0, Try: uint64(r.next() % 2),
			Copied: Copied(r.next() % 3), Refuses: r.next()%4 == 0})
	}
	return f
}

// TestAVolumeIsNotLeftBehind moves units with volumes: the target that has one is left only where
// that must be.
func TestAVolumeIsNotLeftBehind(t *testing.T) {
	for n := range 50_000 {
		r := random(n)
		record, f := anyRecord(&r), anyFacts(&r)
		next := Next(record, f)
		for _, target := range f.Targets {
			if target.Pinned && target.Leave != Evict && !f.Ended && !f.Empty && f.Wish != Nowhere &&
				record.Has(target.ID) && !next.Has(target.ID) {
				t.Fatalf("%d: %+v -> %+v leaves %d with its volume; %+v", n, record, next, target.ID, f)
			}
		}
	}
}

const propTurn = "what waits for its turn is not left for another"

// TestWhatWaitsForItsTurnIsNotLeft takes any record and any facts. A target that others leave first may be
// left where nothing comes in its place.
func TestWhatWaitsForItsTurnIsNotLeft(t *testing.T) {
	replaced, alone := 0, 0
	for n := range 50_000 {
		r := random(n)
		record, f := anyRecord(&r), anyFacts(&r)
		i := slices.IndexFunc(f.Targets, func(known Target) bool {
			return known.Leave == Drain && record.Has(known.ID) && !record.Leaves(known.ID)
		})
		if i < 0 {
			continue
		}
		target := f.Targets[i].ID
		if Next(record, f).Leaves(target) {
			replaced++
		}
		f.Targets[i].Queued = true
		next := Next(record, f)
		without := slices.ContainsFunc(next.Places, func(p Place) bool {
			return p.Target == target && p.Off && p.Leaving != Replaced
		})
		switch {
		case without, !next.Has(target) && !next.Leaves(target):
			alone++
		case next.Leaves(target):
			t.Fatalf("%s: %d: %+v -> %+v leaves %d; %+v", propTurn, n, record, next, target, f)
		}
	}
	if replaced < 100 || alone < 100 {
		t.Errorf("%d would be replaced, %d leave without: too few", replaced, alone)
	}
}

const propLeave = "nothing joins a target that must be left"

// TestNothingJoinsATargetThatMustBeLeft takes any record and any facts. What was taken off such a
// target may return to it, when nothing else is to be had.
func TestNothingJoinsATargetThatMustBeLeft(t *testing.T) {
	for n := range 50_000 {
		r := random(n)
		record, f := anyRecord(&r), anyFacts(&r)
		if f.Suspended || f.Ended {
			continue
		}
		next := Next(record, f)
		for _, target := range f.Targets {
			known := slices.ContainsFunc(record.Places, func(p Place) bool { return p.Target == target.ID })
			if target.Leave != MayStay && next.Has(target.ID) && (f.Empty || !known) {
				t.Fatalf("%s: %d: %+v -> %+v; %+v", propLeave, n, record, next, f)
			}
		}
	}
}

// TestASwapThatBlocksItselfGoesBack lets two units swap their targets, each of which has room for
// one. Both time out and go back, and nothing moves after that.
func TestASwapThatBlocksItselfGoesBack(t *testing.T) {
	units := []Record{{Places: places(7)}, {Places: places(9)}}
	wish := []TargetID{9, 7}
	f := Facts{Timeout: 600, Wish: Somewhere}
	for f.Now = 1; f.Now < 5_000; f.Now += 100 {
		for i := range units {
			other := units[1-i]
			f.Wanted, f.Targets = wish[i:i+1], targets(7, 9)
			for j := range f.Targets {
				target := &f.Targets[j]
				if room := !other.Has(target.ID) || target.ID != wish[i]; room {
					target.State = Ready
				} else {
					target.Dispensable = true // it is refused there
				}
			}
			units[i] = Next(units[i], f)
		}
	}
	for i, r := range units {
		if !slices.Equal(r.Here(), []TargetID{wish[1-i]}) || len(r.GaveUp) != 1 || r.Generation != 2 {
			t.Errorf("%s: unit %d: %+v", propTries, i, r)
		}
	}
}

// BenchmarkNextOfManyTargets takes the steps of a move of a unit from 1,000 targets to 1,000 others.
func BenchmarkNextOfManyTargets(b *testing.B) {
	const n = 1_000
	var from, to, all []TargetID
	for i := range TargetID(n) {
		from, to = append(from, 1+i), append(to, 1+n+i)
	}
	all = append(append(all, from...), to...)
	f := Facts{Now: 1, Timeout: 600, Wish: Somewhere, Wanted: to, Targets: targets(all...)}
	b.ReportAllocs()
	for b.Loop() {
		r := Record{Places: places(from...)}
		for i := range f.Targets {
			f.Targets[i].State = Unproven
		}
		r = Next(r, f)
		for i := range f.Targets {
			f.Targets[i].State = Ready
		}
		if r = Next(r, f); len(r.Places) != n || !r.Settled() {
			b.Fatal(len(r.Places))
		}
	}
}

// TestALargeRecordStepsAsASmallOne adds many targets that stay to any record: the others go on as
// they do without them.
func TestALargeRecordStepsAsASmallOne(t *testing.T) {
	for n := range 20_000 {
		r := random(n)
		small, f := anyRecord(&r), anyFacts(&r)
		if f.Wish != Somewhere {
			continue
		}
		large, g := Record{Places: slices.Clone(small.Places), GaveUp: small.GaveUp}, f
		g.Targets, g.Wanted = slices.Clone(f.Targets), slices.Clone(f.Wanted)
		for id := TargetID(201); id <= 220; id++ {
			large.Places, g.Wanted = append(large.Places, Place{Target: id}), append(g.Wanted, id)
			g.Targets = append(g.Targets, Target{ID: id})
		}
		for range 3 {
			small, large = Next(small, f), Next(large, g)
		}
		got := slices.DeleteFunc(slices.Clone(large.Places), func(p Place) bool { return p.Target > 200 })
		if !slices.Equal(got, small.Places) || !slices.Equal(large.GaveUp, small.GaveUp) || large.Generation != small.Generation {
			t.Fatalf("%d: small %+v, large %+v; %+v", n, small, large, f)
		}
	}
}

// What must exist once is on one target, or, while it goes to another one, on both of the pair.
func TestNextSingles(t *testing.T) {
	ready := func(f Facts, targets ...TargetID) Facts {
		f.Targets = slices.Clone(f.Targets)
		for i := range f.Targets {
			if slices.Contains(targets, f.Targets[i].ID) {
				f.Targets[i].State = Ready
			}
		}
		return f
	}
	facts := func(wanted ...TargetID) Facts {
		f := Facts{Now: 1000, Timeout: 600, Wish: Somewhere, Wanted: wanted, Singles: true}
		for id := range TargetID(5) {
			f.Targets = append(f.Targets, Target{ID: id + 1})
		}
		return f
	}
	check := func(what string, r Record, here, soles []TargetID) {
		t.Helper()
		if !slices.Equal(r.Here(), here) || !slices.Equal(r.Soles(), soles) {
			t.Fatalf("%s: on %v, singles on %v; want %v and %v", what, r.Here(), r.Soles(), here, soles)
		}
	}
	r := Next(Record{}, facts(1, 2))
	check("first", r, []TargetID{1, 2}, []TargetID{1})
	moves := Next(r, facts(3, 4))
	check("a move", moves, []TargetID{1, 2, 3, 4}, []TargetID{1, 3})
	check("the other pair is ready", Next(moves, ready(facts(3, 4), 4)), []TargetID{1, 3, 4}, []TargetID{1, 3})
	check("its pair is ready", Next(moves, ready(facts(3, 4), 3)), []TargetID{2, 3, 4}, []TargetID{3})

	leaves := Next(r, ready(facts(2), 2))
	check("a target is withdrawn", leaves, []TargetID{1, 2}, []TargetID{1, 2})
	check("not before it has arrived", Next(leaves, facts(2)), []TargetID{1, 2}, []TargetID{1, 2})
	check("it has arrived", Next(leaves, ready(facts(2), 2)), []TargetID{2}, []TargetID{2})

	to := facts(1, 2)
	to.SoleAt = 2
	passes := Next(r, to)
	check("it is to be elsewhere", passes, []TargetID{1, 2}, []TargetID{1, 2})
	if passes.Settled() || passes.Generation != r.Generation+1 {
		t.Errorf("settled %v, generation %d after %d", passes.Settled(), passes.Generation, r.Generation)
	}
	check("it is there", Next(passes, ready(to, 2)), []TargetID{1, 2}, []TargetID{2})

	first := facts(3, 2)
	first.BreakFirst = true
	off := Next(r, first)
	check("left first", off, []TargetID{2}, nil)
	first.Targets[0].State = Absent
	check("then joined", Next(off, first), []TargetID{3, 2}, []TargetID{3})

	none := facts(1, 2)
	none.Singles = false
	check("there are none", Next(r, none), []TargetID{1, 2}, nil)
}

// TestWhatWasGivenUpStaysSoWhileAnotherIsWanted, and is forgotten when nothing passes it over.
func TestWhatWasGivenUpStaysSoWhileAnotherIsWanted(t *testing.T) {
	r := Record{Places: places(1), GaveUp: []GaveUp{{Target: 2}}}
	f := Facts{Now: 1, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{3}, Passed: []TargetID{2}, Targets: targets(1, 2, 3)}
	if next := Next(r, f); !next.Has(3) || len(next.GaveUp) != 1 {
		t.Errorf("on its way: %+v", next)
	}
	f.Passed = nil
	if next := Next(r, f); !next.Has(3) || len(next.GaveUp) != 0 {
		t.Errorf("not passed over: %+v", next)
	}
}
