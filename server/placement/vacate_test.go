package placement

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"skerry.dev/skerry/server/api/v1alpha1"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func taint(key string, age time.Duration) corev1.Taint {
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: noon.Add(-age)}}
}

func drained(t *Target) {
	t.Unschedulable, t.Taints = true, []corev1.Taint{taint(v1alpha1.TaintDrain, time.Minute)}
}
func tainted(t *Target)   { t.Taints = []corev1.Taint{taint("power", time.Minute)} }
func removed(t *Target)   { t.Unschedulable, t.Removing = true, true }
func discarded(t *Target) { t.Unschedulable, t.Removing, t.Discard = true, true, true }
func off(t *Target)       { t.Connected = false }
func cordoned(t *Target) {
	t.Unschedulable = true
}

func away(evictAfter, since time.Duration) func(*Target) {
	return func(t *Target) {
		t.Connected, t.EvictAfter, t.AwaySince = false, evictAfter, noon.Add(-since)
	}
}

// vacateWorld has connected targets of these names, each changed as said.
func vacateWorld(change map[string]func(*Target), names ...string) World {
	var w World
	for _, name := range names {
		t := Target{Name: name, Labels: labels.Set{"name": name}, Connected: true}
		if f := change[name]; f != nil {
			f(&t)
		}
		w.Targets = append(w.Targets, t)
	}
	w.Halted = Halted(w.Targets, noon)
	return w
}

func stays(v Vacated) (out string) {
	for _, s := range v.Stays {
		out += s.Target + ":" + s.Reason + " "
	}
	return strings.TrimSpace(out)
}

func TestWhatLeavesAndWhatStays(t *testing.T) {
	type changes = map[string]func(*Target)
	seconds := func(n int64) []corev1.Toleration {
		return []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: &n}}
	}
	any1 := Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 1}
	any2 := Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 2}
	all := Wish{Selectors: []labels.Selector{labels.Everything()}}
	for name, c := range map[string]struct {
		wish    Wish
		world   World
		current []string
		terms   Terms
		want    []string
		stays   string
		gone    []string
		halted  []string
		next    time.Duration
	}{
		"nothing is drained": {wish: any1, world: vacateWorld(nil, "a", "b"), current: []string{"a"}, want: []string{"a"}},
		"drained, another fits": {wish: any1, world: vacateWorld(changes{"a": drained}, "a", "b"),
			current: []string{"a"}, want: []string{"b"}},
		"in the middle of the move": {wish: any1, world: vacateWorld(changes{"a": drained}, "a", "b"),
			current: []string{"a", "b"}, want: []string{"b"}},
		"drained, no other": {wish: any1, world: vacateWorld(changes{"a": drained}, "a"),
			current: []string{"a"}, want: []string{"a"}, stays: "a:NoOtherTarget"},
		"the other is cordoned": {wish: any1, world: vacateWorld(changes{"a": drained, "b": cordoned}, "a", "b"),
			current: []string{"a"}, want: []string{"a"}, stays: "a:NoOtherTarget"},
		"the other is off": {wish: any1, world: vacateWorld(changes{"a": drained, "b": off}, "a", "b"),
			current: []string{"a"}, want: []string{"a"}, stays: "a:NoOtherTarget"},
		"pinned": {wish: Wish{Names: []string{"a"}, Count: 1}, world: vacateWorld(changes{"a": drained}, "a", "b"),
			current: []string{"a"}, want: []string{"a"}, stays: "a:Pinned"},
		"count is kept": {wish: any2, world: vacateWorld(changes{"a": drained, "b": drained}, "a", "b", "c"),
			current: []string{"a", "b"}, want: []string{"a", "c"}, stays: "a:NoOtherTarget"},
		"count is kept with enough": {wish: any2, world: vacateWorld(changes{"a": drained, "b": drained}, "a", "b", "c", "d"),
			current: []string{"a", "b"}, want: []string{"c", "d"}},
		"all: the others remain": {wish: all, world: vacateWorld(changes{"a": drained}, "a", "b", "c"),
			current: []string{"a", "b", "c"}, want: []string{"b", "c"}},
		"all: the last one stays": {wish: all, world: vacateWorld(changes{"a": drained, "b": drained}, "a", "b"),
			current: []string{"a", "b"}, want: []string{"a"}, stays: "a:NoOtherTarget"},
		"all: a budget": {wish: all, world: vacateWorld(changes{"a": drained, "b": drained}, "a", "b", "c"),
			current: []string{"a", "b", "c"}, terms: Terms{MinAvailable: 2}, want: []string{"a", "c"},
			stays: "a:DisruptionBudget"},
		"all: a tainted one does not come back": {wish: all, world: vacateWorld(changes{"a": tainted}, "a", "b", "c"),
			current: []string{"b", "c"}, want: []string{"b", "c"}},
		"break first, one at a time": {wish: any2,
			world:   vacateWorld(changes{"a": drained, "b": drained}, "a", "b", "c", "d"),
			current: []string{"a", "b"}, terms: Terms{MinAvailable: 1, BreakFirst: true},
			want: []string{"b", "c"}, stays: "b:DisruptionBudget"},
		"break first, nothing may be away": {wish: any1, world: vacateWorld(changes{"a": drained}, "a", "b"),
			current: []string{"a"}, terms: Terms{MinAvailable: 1, BreakFirst: true}, want: []string{"a"},
			stays: "a:DisruptionBudget"},
		"break first, another one is lost": {wish: all,
			world:   vacateWorld(changes{"a": drained, "b": discarded}, "a", "b", "c"),
			current: []string{"a", "b"}, terms: Terms{MinAvailable: 1, BreakFirst: true},
			want: []string{"a", "c"}, stays: "a:DisruptionBudget"},
		"removed, another fits": {wish: any1, world: vacateWorld(changes{"a": removed}, "a", "b"),
			current: []string{"a"}, want: []string{"b"}},
		"removed, no other": {wish: any1, world: vacateWorld(changes{"a": removed}, "a"),
			current: []string{"a"}, want: []string{"a"}, stays: "a:NoOtherTarget"},
		"removed, pinned": {wish: Wish{Names: []string{"a"}, Count: 1}, world: vacateWorld(changes{"a": removed}, "a", "b"),
			current: []string{"a"}, want: []string{"a"}, stays: "a:Pinned"},
		"discarded, another fits": {wish: any1, world: vacateWorld(changes{"a": discarded}, "a", "b"),
			current: []string{"a"}, want: []string{"b"}},
		"discarded, no other": {wish: any1, world: vacateWorld(changes{"a": discarded}, "a"),
			current: []string{"a"}, gone: []string{"a"}},
		"tainted, tolerated for ever": {wish: any1, world: vacateWorld(changes{"a": tainted}, "a", "b", "c"),
			current: []string{"a"}, want: []string{"a"},
			terms: Terms{Tolerations: []corev1.Toleration{{Key: "power", Operator: corev1.TolerationOpExists}}}},
		"tainted, tolerated for a while": {wish: any1, world: vacateWorld(changes{"a": tainted}, "a", "b", "c"),
			current: []string{"a"}, want: []string{"a"}, terms: Terms{Tolerations: seconds(300)}, next: 4 * time.Minute},
		"tainted, tolerated for too long": {wish: any1, world: vacateWorld(changes{"a": tainted}, "a", "b", "c"),
			current: []string{"a"}, want: []string{"b"}, terms: Terms{Tolerations: seconds(60)}},
		"more than half are tainted": {wish: any1, world: vacateWorld(changes{"a": tainted, "b": tainted}, "a", "b", "c"),
			current: []string{"a"}, want: []string{"a"}, halted: []string{"a"}},
		"drained ones do not count": {wish: any1, world: vacateWorld(changes{"a": tainted, "b": tainted, "c": drained,
			"d": drained}, "a", "b", "c", "d", "e"), current: []string{"a"}, want: []string{"a"}, halted: []string{"a"}},
		"a drain goes on while others are halted": {wish: any1,
			world:   vacateWorld(changes{"a": drained, "b": tainted, "c": tainted}, "a", "b", "c", "d"),
			current: []string{"a"}, want: []string{"d"}},
		"half are tainted": {wish: any1, world: vacateWorld(changes{"a": tainted, "b": tainted}, "a", "b", "c", "d"),
			current: []string{"a"}, want: []string{"c"}},
		"more than half are drained": {wish: any1, world: vacateWorld(changes{"a": drained, "b": drained}, "a", "b", "c"),
			current: []string{"a"}, want: []string{"c"}},
		"away, not for long enough": {wish: any1,
			world:   vacateWorld(changes{"a": away(time.Hour, time.Minute)}, "a", "b"),
			current: []string{"a"}, want: []string{"a"}, next: 59 * time.Minute},
		"away for too long": {wish: any1, world: vacateWorld(changes{"a": away(time.Hour, 2*time.Hour)}, "a", "b"),
			current: []string{"a"}, want: []string{"b"}},
		"away for ever": {wish: any1, world: vacateWorld(changes{"a": away(0, 200*time.Hour)}, "a", "b"),
			current: []string{"a"}, want: []string{"a"}},
		"most are away": {wish: any1, world: vacateWorld(changes{"a": away(time.Hour, 2*time.Hour),
			"b": away(0, time.Minute)}, "a", "b", "c"), current: []string{"a"}, want: []string{"a"}, halted: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Vacate(c.wish, c.world, c.current, c.terms, noon)
			if !reflect.DeepEqual(got.Targets, c.want) && len(got.Targets)+len(c.want) > 0 {
				t.Errorf("chosen: %v (%s: %s)", got.Targets, got.Reason, got.Message)
			}
			if s := stays(got); s != c.stays {
				t.Errorf("stays: %q", s)
			}
			if (got.Reason == string(CannotLeave)) != (c.stays != "") {
				t.Errorf("reason: %s", got.Reason)
			}
			if !reflect.DeepEqual(got.Gone, c.gone) || !reflect.DeepEqual(got.Halted, c.halted) {
				t.Errorf("gone %v, halted %v", got.Gone, got.Halted)
			}
			if next := got.Next; !next.IsZero() && next.Sub(noon) != c.next || next.IsZero() && c.next != 0 {
				t.Errorf("next: %s", next)
			}
		})
	}
}

func TestMinAvailable(t *testing.T) {
	for want, value := range map[int]intstr.IntOrString{
		2: intstr.FromInt32(2), 3: intstr.FromString("50%"), 5: intstr.FromString("100%"), 0: intstr.FromString("x"),
	} {
		if got := MinAvailable(&v1alpha1.DisruptionPolicy{MinAvailable: &value}, 5); got != want {
			t.Errorf("%s of 5 is %d, want %d", value.String(), got, want)
		}
	}
	if MinAvailable(nil, 5) != 0 {
		t.Error("without a policy something is demanded")
	}
}
