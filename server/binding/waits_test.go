package binding_test

import (
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

func TestWaits(t *testing.T) {
	for what, c := range map[string]struct {
		places []Place
		gaveUp []GaveUp
		facts  Facts
		want   []Wait
	}{
		"at rest": {places: places(7)},
		"a pair": {places: []Place{{Target: 7, Leaving: Replaced}, {Target: 9, For: 7, Since: 100}},
			want: []Wait{{WaitReady, 9, 7, 700}}},
		"a pair of a target that is drained": {places: []Place{{Target: 7, Leaving: Drained}, {Target: 9, For: 7, Since: 100}},
			want: []Wait{{WaitReady, 9, 7, 700}}},
		"drained, and nothing fits": {places: []Place{{Target: 7, Leaving: Drained}}, want: []Wait{{For: WaitCover, Target: 7}}},
		"taken off": {places: []Place{{Target: 7, Off: true, Leaving: Replaced, Since: 100}},
			want: []Wait{{WaitAbsent, 7, 0, 700}}},
		"evicted": {places: []Place{{Target: 7, Off: true, Leaving: Evicted, Since: 100}},
			want: []Wait{{WaitAbsent, 7, 0, 0}}},
		"a volume": {places: places(7), facts: Facts{Wish: Somewhere, Wanted: []TargetID{9},
			Targets: []Target{{ID: 7, Pinned: true}, {ID: 9}}}, want: []Wait{{For: WaitVolume, Target: 7}}},
		"others leave first": {places: []Place{{Target: 7, Leaving: Drained}}, facts: Facts{Wish: Somewhere,
			Wanted: []TargetID{9}, Targets: []Target{{ID: 7, Leave: Drain, Queued: true}, {ID: 9}}},
			want: []Wait{{For: WaitTurn, Target: 7}}},
		"refused beside what it comes for": {places: []Place{{Target: 7, Leaving: Replaced}, {Target: 9, For: 7, Since: 100}},
			facts: Facts{Targets: []Target{{ID: 9, Refuses: true}}}, want: []Wait{{WaitReady, 9, 7, 700}}},
		"refused, and what it comes for is left": {places: []Place{{Target: 9, For: 7, Since: 100}},
			facts: Facts{Targets: []Target{{ID: 9, Refuses: true}}}, want: []Wait{{WaitReady, 9, 7, 160}}},
		"given up": {places: places(7), gaveUp: []GaveUp{{9, 1}}, want: []Wait{{For: WaitChange, Target: 9}}},
		"suspended": {places: []Place{{Target: 7}, {Target: 9, For: 7}}, facts: Facts{Suspended: true},
			want: []Wait{{For: WaitSuspend}, {WaitReady, 9, 7, 0}}},
	} {
		c.facts.Timeout = 600
		if got := Waits(Record{Places: c.places, GaveUp: c.gaveUp}, c.facts); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}

// TestWhatIsNotAtRestWaits takes any record to its rest: where it is not as it is wished then, it
// says what it waits for.
func TestWhatIsNotAtRestWaits(t *testing.T) {
	for n := range 20_000 {
		r := random(n)
		record, f := anyRecord(&r), anyFacts(&r)
		for range 12 {
			record = Next(record, f)
		}
		if !record.Settled() && !f.Ended && len(Waits(record, f)) == 0 {
			t.Fatalf("%d: %+v waits for nothing; %+v", n, record, f)
		}
	}
}
