package sessions

import (
	"slices"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestATargetThatFlapsIsTrustedLater(t *testing.T) {
	f, now, st := newFlaps(), time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), leasedTarget("a", 0, nil)
	stable := func(connected bool) bool {
		f.say(st, connected)
		return !apimeta.IsStatusConditionFalse(st.Status.Conditions, v1alpha1.ConditionStable)
	}
	for i, hold := range []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute} {
		now = now.Add(5 * time.Minute)
		f.lost("a", now)
		now = now.Add(10 * time.Second)
		f.back("a", now)
		if stable(true) != (hold == 0) {
			t.Errorf("after %d losses it is trusted: %v", i+1, hold != 0)
		}
		if hold == 0 {
			continue
		}
		if !stable(true) && len(f.over(now.Add(hold-time.Millisecond))) > 0 {
			t.Errorf("after %d losses it is trusted before %v", i+1, hold)
		}
		if over := f.over(now.Add(hold)); !slices.Equal(over, []string{"a"}) || !stable(true) {
			t.Errorf("after %d losses and %v: %v", i+1, hold, over)
		}
	}
	for range 30 {
		f.lost("a", now)
	}
	f.back("a", now)
	if len(f.over(now.Add(longestHold))) != 1 {
		t.Error("the time that it has to be well is not bounded")
	}
	f.lost("a", now)
	if f.back("a", now); stable(true) || stable(false) {
		t.Error("one that is away again has become trusted")
	}
	now = now.Add(2 * flapMemory)
	f.lost("a", now)
	if f.back("a", now); !stable(true) {
		t.Error("what was long ago counts")
	}
}
