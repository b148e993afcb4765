package binding_test

import (
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const propRefused = "what is refused is not waited for while nothing runs"

// TestARefusalIsNotWaitedForLong has a unit that breaks first come to a target which refuses it: it goes back after a
// minute. Where it still runs meanwhile it waits for all of its time.
func TestARefusalIsNotWaitedForLong(t *testing.T) {
	for _, c := range []struct {
		places  []Place
		refuses bool
		within  int64
	}{
		{[]Place{{Target: 9, For: 7, Since: 100}}, true, 60},
		{[]Place{{Target: 9, For: 7, Since: 100}}, false, 600},
		{[]Place{{Target: 7, Leaving: Replaced}, {Target: 9, For: 7, Since: 100}}, true, 600},
	} {
		f := Facts{Timeout: 600, Wish: Somewhere, Wanted: []TargetID{9}, BreakFirst: len(c.places) == 1,
			Targets: []Target{{ID: 7}, {ID: 9, Refuses: c.refuses, Dispensable: true}}}
		r := Record{Places: c.places}
		f.Now = 100 + c.within - 1
		if next := Next(r, f); !next.Has(9) || len(next.GaveUp) > 0 {
			t.Errorf("%s: %+v: %+v a second before", propRefused, c, next)
		}
		f.Now++
		if next := Next(r, f); next.Has(9) || len(next.GaveUp) != 1 {
			t.Errorf("%s: %+v: %+v when its time is over", propRefused, c, next)
		}
	}
}
