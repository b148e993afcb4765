package placement

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestAbsent(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	down := Departure{Taints: []corev1.Taint{{Key: v1alpha1.TaintOutOfService, Effect: corev1.TaintEffectNoExecute}}}
	cordoned := Departure{Taints: []corev1.Taint{{Key: v1alpha1.TaintOutOfService, Effect: corev1.TaintEffectNoSchedule}}}
	for name, c := range map[string]struct {
		target  Target
		lease   Lease
		certain bool
		until   time.Time
		says    string
	}{
		"no lease":              {says: "it has no lease. If the site is really down: skerry target out-of-service a."},
		"wanted, not confirmed": {lease: Lease{Wanted: true}, says: "its agent had not confirmed its lease"},
		"refused":               {lease: Lease{Wanted: true, Refused: true}, says: "its site refuses to stop anything"},
		"runs": {lease: Lease{Held: true, Ends: now.Add(5 * time.Second)}, until: now.Add(5 * time.Second),
			says: "waits for the lease of a until 12:00:05"},
		"has just ended": {lease: Lease{Held: true, Ends: now}, certain: true},
		"ended, but the site is back": {target: Target{Connected: true}, lease: Lease{Held: true, Ends: now.Add(-time.Hour)},
			says: "a is connected"},
		"the admin says it is down": {target: Target{Departure: down}, certain: true},
		"a taint of another effect": {target: Target{Departure: cordoned}, says: "it has no lease"},
	} {
		t.Run(name, func(t *testing.T) {
			c.target.Name = "a"
			a := Absent(c.target, c.lease, now)
			if a.Certain != c.certain || !a.Until.Equal(c.until) || !strings.Contains(a.Message, c.says) {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestWhatMayStillRunStaysOnATargetThatIsAway(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	away := Target{Name: "a", Departure: Departure{EvictAfter: time.Minute, AwaySince: now.Add(-time.Hour)}}
	w := World{Now: now, Targets: []Target{away, {Name: "b", Connected: true}, {Name: "c", Connected: true}}}
	wish := Wish{Names: []string{"a", "b", "c"}, Count: 1}
	if v := Vacate(wish, w, []string{"a"}, Terms{}, now); len(v.Targets) != 1 || v.Targets[0] == "a" {
		t.Errorf("what may run twice: %+v", v)
	}
	v := Vacate(wish, w, []string{"a"}, Terms{Unfenced: map[string]string{"a": "why"}}, now)
	if !Same(v.Targets, []string{"a"}) || len(v.Stays) != 1 || v.Stays[0].Reason != StayUnfenced || v.Message != "why" {
		t.Errorf("what must not: %+v", v)
	}
	w.Targets[0].Removing = true
	v = Vacate(wish, w, []string{"a"}, Terms{Unfenced: map[string]string{"a": "why"}}, now)
	if !Same(v.Targets, []string{"a"}) {
		t.Errorf("it leaves a target that is removed, and may still run there: %+v", v)
	}
	w.Targets[0].Discard = true
	v = Vacate(wish, w, []string{"a"}, Terms{Unfenced: map[string]string{"a": "why"}}, now)
	if Same(v.Targets, []string{"a"}) {
		t.Errorf("it stays on a target that is discarded: %+v", v)
	}
}
