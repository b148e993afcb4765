package walk

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestOn(t *testing.T) {
	m := newModel([]string{"a", "b", "c"}, 2, 10)
	for _, c := range []struct {
		shape shape
		want  []string
	}{
		{shape{version: 3}, nil},
		{shape{exists: true}, []string{"b"}},
		{shape{exists: true, everywhere: true}, []string{"a", "b", "c"}},
		{shape{exists: true, everywhere: true, pin: "a"}, []string{"a"}},
	} {
		if got := m.on("walk-1", c.shape); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v is to be on %v, want %v", c.shape, got, c.want)
		}
	}
}

// TestJudge shows the judge every kind of event that it is to find, after one that it is not.
func TestJudge(t *testing.T) {
	newCase := func() *judge {
		j := newJudge([]string{"a"}, func(string, string, ...any) {})
		j.expect("walk-0/o-1", ways{come: []string{"a"}})
		j.event("a", "ADDED", time.Now(), event("u1", 2))
		j.rest()
		if !j.verdict().faultless() {
			t.Fatalf("what was expected is found: %+v", j.verdict())
		}
		return j
	}
	for name, c := range map[string]struct {
		after func(*judge)
		want  verdict
	}{
		"the next version": {func(j *judge) { j.event("a", "MODIFIED", time.Now(), event("u1", 3)) }, verdict{}},
		"moved away and back": {func(j *judge) {
			j.expect("walk-0/o-1", ways{come: []string{"a"}, leave: []string{"a"}})
			j.event("a", "DELETED", time.Now(), event("u1", 2))
			j.event("a", "ADDED", time.Now(), event("u2", 2))
		}, verdict{}},
		"deleted":       {func(j *judge) { j.event("a", "DELETED", time.Now(), event("u1", 2)) }, verdict{WronglyDeleted: 1}},
		"written again": {func(j *judge) { j.event("a", "MODIFIED", time.Now(), event("u1", 2)) }, verdict{WrittenTwice: 1}},
		"told twice": {func(j *judge) {
			j.event("a", "MODIFIED", time.Now(), eventAt("u1", 3, 9999))
			j.event("a", "MODIFIED", time.Now(), eventAt("u1", 3, 9999))
		}, verdict{Repeated: 1}},
		"its life told twice": {func(j *judge) {
			j.expect("walk-0/o-1", ways{leave: []string{"a"}})
			j.event("a", "MODIFIED", time.Now(), eventAt("u1", 3, 9998))
			j.event("a", "DELETED", time.Now(), eventAt("u1", 3, 9999))
			j.event("a", "ADDED", time.Now(), eventAt("u1", 3, 9998))
			j.event("a", "DELETED", time.Now(), eventAt("u1", 3, 9999))
		}, verdict{Repeated: 2}},
		"an old version": {func(j *judge) { j.event("a", "MODIFIED", time.Now(), event("u1", 1)) }, verdict{WentBack: 1}},
		"back without being asked for": {func(j *judge) {
			j.expect("walk-0/o-1", ways{leave: []string{"a"}})
			j.event("a", "DELETED", time.Now(), event("u1", 2))
			j.event("a", "ADDED", time.Now(), event("u2", 2))
		}, verdict{Resurrected: 1}},
		"gone, and no event told": {func(j *judge) {
			j.expect("walk-0/o-1", ways{leave: []string{"a"}})
			j.behold("a", j.told("a"), nil)
			j.late("a", j.missing("a", nil))
		}, verdict{Untold: 1}},
		"deleted, and no event told": {func(j *judge) { j.behold("a", j.told("a"), nil) },
			verdict{Untold: 1, WronglyDeleted: 1}},
		"back, and no event told": {func(j *judge) {
			j.behold("a", j.told("a"), map[string]shape{"walk-0/o-1": {exists: true, version: 2},
				"walk-0/o-2": {exists: true, version: 1}})
		}, verdict{Untold: 1, Resurrected: 1}},
		"read before the last event": {func(j *judge) { j.behold("a", j.told("a")-1, nil) }, verdict{}},
		"as it was told": {func(j *judge) {
			j.behold("a", j.told("a"),
				map[string]shape{"walk-0/o-1": {exists: true, version: 2}})
		}, verdict{}},
		"late": {func(j *judge) {
			j.late("a",
				j.missing("a", map[string]int{"walk-0/o-1": 3}))
		}, verdict{Lost: 1}},
		"left over": {func(j *judge) { j.late("a", j.missing("a", nil)) }, verdict{Resurrected: 1}},
		"not wanted": {func(j *judge) {
			j.late("a",
				j.missing("a", map[string]int{"walk-0/o-1": 2}))
		}, verdict{}},
	} {
		j := newCase()
		c.after(j)
		got := j.verdict()
		got.Events, got.Said, got.Repeats, got.keys = 0, nil, nil, nil
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: found %+v, want %+v", name, got, c.want)
		}
	}
}

// written counts resourceVersions.
var written int

func event(uid string, version int) []byte {
	written++
	return eventAt(uid, version, written)
}

func eventAt(uid string, version, revision int) []byte {
	return fmt.Appendf(nil,
		`{"metadata":{"namespace":"walk-0","name":"o-1","uid":%q,"resourceVersion":"%d"},"data":{"v":"%d"}}`, uid, revision, version)
}

// TestWays: as long as a write has no answer, an object may be where it was and where it was to go.
func TestWays(t *testing.T) {
	m := newModel([]string{"a", "b", "c"}, 1, 1)
	o := m.objects[0]
	o.before, o.shape, o.unknown = shape{exists: true}, shape{exists: true, pin: "b"}, true
	if w := m.ways(o, nil); !reflect.DeepEqual(w, ways{come: []string{"b", "a"}, leave: []string{"b", "a"}}) {
		t.Errorf("unknown: %+v", w)
	}
	o.unknown = false
	if w := m.ways(o, []string{"a"}); !reflect.DeepEqual(w, ways{come: []string{"b"}, leave: []string{"a"}}) {
		t.Errorf("known: %+v", w)
	}
	// It was pinned to where its namespace is to go, which has no answer: unpinned it may follow
	// the namespace to where that still is, and back.
	m.namespaces[o.namespace], m.via[o.namespace] = "a", []string{"c"}
	o.shape = shape{version: 2, exists: true}
	if w := m.ways(o, []string{"a"}); !slices.Contains(w.come, "c") || !slices.Contains(w.leave, "a") ||
		slices.Contains(w.leave, "b") {
		t.Errorf("unpinned on the way: %+v", w)
	}
	o.pin = "a"
	if w := m.ways(o, []string{"a"}); slices.Contains(w.leave, "a") {
		t.Errorf("still pinned: %+v", w)
	}
}

// TestPlan: the same seed plans the same cycles, and all faults are used up.
func TestPlan(t *testing.T) {
	plan := func(seed uint64) (cycles []cycle, partitions, kills int) {
		p := &planner{random: rand.New(rand.NewPCG(seed, 0)), sites: []string{"a", "b", "c"},
			spaces: []string{"walk-0"}, to: 100, partitions: 30, kills: 20}
		for p.partitions+p.kills > 0 {
			c := p.next()
			for _, f := range c.faults {
				if f.kind.partition() {
					partitions++
				} else {
					kills++
				}
			}
			cycles = append(cycles, c)
		}
		return cycles, partitions, kills
	}
	one, partitions, kills := plan(7)
	if partitions != 30 || kills != 20 {
		t.Errorf("%d partitions and %d kills", partitions, kills)
	}
	if again, _, _ := plan(7); !reflect.DeepEqual(one, again) {
		t.Error("the same seed plans something else")
	}
	if other, _, _ := plan(8); reflect.DeepEqual(one, other) {
		t.Error("another seed plans the same")
	}
}

func TestDiffering(t *testing.T) {
	got := differing([]byte(`{"metadata":{"resourceVersion":"1","labels":{"a":"x"},"name":"n"},"data":{"v":"1"}}`),
		[]byte(`{"metadata":{"resourceVersion":"2","labels":{"a":"y","b":"z"},"name":"n"},"data":{"v":"1"}}`))
	if want := ".metadata.labels.a was x, is y; .metadata.labels.b was <nil>, is z; .metadata.resourceVersion was 1, is 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHealed: a cycle is healed with its last fault, or its last write; what each site took is
// counted from there.
func TestHealed(t *testing.T) {
	zero := time.Unix(1_000_000, 0)
	at := func(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }
	for _, c := range []struct{ stopped, want int }{{15, 20}, {30, 30}} {
		if whole := healed([]time.Time{at(3), at(20), at(7)}, at(c.stopped)); whole != at(c.want) {
			t.Errorf("the last write at %d: healed at %s, want %d", c.stopped, whole.Sub(zero), c.want)
		}
	}
	as := map[string]time.Time{"a": at(21), "b": at(29), "c": at(19)}
	for site, want := range map[string]time.Duration{"a": time.Second, "b": 9 * time.Second, "c": 0,
		noPartition: 9 * time.Second} {
		if got := took(as, at(20), site); got != want {
			t.Errorf("%q took %s, want %s", site, got, want)
		}
	}
}
