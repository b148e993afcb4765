package admin

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// loadedSite is a connected site with 10 cores.
func loadedSite(name, allocated string) v1alpha1.SyncTarget {
	t := v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionConnected, Status: metav1.ConditionTrue}}
	t.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("10"), "memory": resource.MustParse("10Gi")}
	t.Status.Allocated = corev1.ResourceList{"cpu": resource.MustParse(allocated)}
	return t
}

func anywhere(name, at string, cpu int64) *unit {
	return &unit{
		key:      store.Key{Space: "shop", Resource: "namespaces", Name: name},
		decision: []string{at},
		wish:     placement.Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 1},
		load:     placement.Load{Requests: placement.Requests{CPU: cpu}, Objects: 1},
		ties:     map[string]ties{},
	}
}

func TestAPlanEvensOutTheLoad(t *testing.T) {
	sites := []v1alpha1.SyncTarget{loadedSite("a", "9"), loadedSite("b", "1")}
	state := &fleetState{}
	for i := range sites {
		state.world.Targets = append(state.world.Targets, targetOf(&sites[i]))
	}
	pinned := anywhere("pinned", "a", 4000)
	pinned.wish = placement.Wish{Names: []string{"a"}, Count: 1}
	kept := anywhere("volume", "a", 4000)
	kept.ties["a"] = ties{volumes: []string{"persistentvolumeclaims/data"}}
	held := anywhere("held", "a", 4000)
	held.suspended = true
	state.units = []*unit{pinned, kept, held, anywhere("large", "a", 9000), anywhere("one", "a", 3000),
		anywhere("two", "a", 1000), anywhere("three", "a", 500)}
	for i, asks := range []string{"9", "1"} { // what is placed there is told, and was moved since
		sites[i].Status.Allocated = corev1.ResourceList{"cpu": resource.MustParse(asks)}
		sites[i].Status.AllocatedPlaced = corev1.ResourceList{"cpu": resource.MustParse("1")}
	}
	loads := state.loads(sites)
	if got := []int64{loads["a"].asked.CPU, loads["b"].asked.CPU}; !slices.Equal(got, []int64{9000 - 1000 + 25500, 0}) {
		t.Errorf("loads are %d", got)
	}
	var said []string
	for _, m := range state.rebalance(map[string]siteLoad{
		"a": {has: loads["a"].has, asked: placement.Requests{CPU: 9000}},
		"b": {has: loads["b"].has, asked: placement.Requests{CPU: 1000}}}, moveFilter{}, 10, time.Now()) {
		said = append(said, strings.TrimPrefix(m.Object, "shop/core/namespaces/_/")+" "+m.From+">"+m.To[0])
	}
	if want := []string{"one a>b", "two a>b"}; !slices.Equal(said, want) {
		t.Errorf("planned: %v, want %v", said, want)
	}
	if again := state.rebalance(map[string]siteLoad{}, moveFilter{}, 10, time.Now()); len(again) != 0 {
		t.Errorf("without loads %d moves are planned", len(again))
	}
	one := &fleetState{world: state.world, units: []*unit{anywhere("one", "a", 3000), anywhere("two", "a", 1000)}}
	if len(one.rebalance(one.loads(sites), moveFilter{}, 1, time.Now())) != 1 {
		t.Error("more moves than asked for")
	}
}

// placed is what a Placement of a space has on a target, and may have on another one.
func placed(space, name, at, other string, cpu int64) *unit {
	u := anywhere(name, at, cpu)
	u.key = store.Key{Space: space, Group: v1alpha1.GroupVersion.Group, Resource: "placements", Name: name}
	u.rule, u.wish = &placement.Rule{Name: name}, placement.Wish{Names: []string{at, other}, Count: 1}
	return u
}

func TestAPlanHasOnlyWhatIsAskedFor(t *testing.T) {
	fleet := func() (*fleetState, map[string]siteLoad) {
		sites := []v1alpha1.SyncTarget{loadedSite("a", "0"), loadedSite("b", "0"), loadedSite("c", "0")}
		state := &fleetState{units: []*unit{placed("shop", "web", "a", "c", 2000), placed("bank", "web", "a", "c", 1800),
			placed("shop", "db", "b", "c", 1500), anywhere("web", "a", 1500)}}
		for i := range sites {
			state.world.Targets = append(state.world.Targets, targetOf(&sites[i]))
		}
		load := func(cpu int64) siteLoad {
			return siteLoad{has: placement.Requests{CPU: 10000}, asked: placement.Requests{CPU: cpu}}
		}
		return state, map[string]siteLoad{"a": load(9000), "b": load(5000), "c": load(0)}
	}
	for only, want := range map[moveFilter]string{
		{}:                                "shop/web a>c; bank/web a>c",
		{placement: "web"}:                "shop/web a>c; bank/web a>c",
		{placement: "web", space: "shop"}: "shop/web a>c",
		{space: "bank"}:                   "bank/web a>c",
		{target: "b"}:                     "shop/db b>c; shop/web a>b",
		{target: "b", space: "bank"}:      "",
		{target: "b", placement: "db"}:    "shop/db b>c",
	} {
		state, loads := fleet()
		if err := only.check(state); err != nil {
			t.Errorf("%+v: %v", only, err)
		}
		var said []string
		for _, m := range state.rebalance(loads, only, 10, time.Now()) {
			said = append(said, m.unit.key.Space+"/"+m.unit.key.Name+" "+m.From+">"+m.To[0])
		}
		if got := strings.Join(said, "; "); got != want {
			t.Errorf("%+v: planned %q, want %q", only, got, want)
		}
	}
	for only, want := range map[moveFilter]string{
		{target: "d"}:                    `there is no site "d"; see them with: skerry status`,
		{placement: "api"}:               `no Placement "api" of any space has placed anything`,
		{placement: "db", space: "bank"}: `no Placement "db" of space bank has placed anything`,
	} {
		state, _ := fleet()
		if err := only.check(state); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", only, err, want)
		}
	}
	_, loads := fleet()
	if said := (moveFilter{target: "b"}).nothingToMove(loads); !strings.HasPrefix(said, "No move of those that --placement,") {
		t.Errorf("it says %q", said)
	}
}

func TestRebalanceRefusesWhatIsNotThere(t *testing.T) {
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		kind := map[string]string{"synctargets": "SyncTarget", "locations": "Location", "spaces": "Space"}[path.Base(r.URL.Path)]
		if kind == "" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion":"skerry.dev/v1alpha1","kind":"%sList","metadata":{},"items":[]}`, kind)
	}
	for line, want := range map[string]string{
		"rebalance --dry-run":               "Nothing to even out",
		"rebalance --dry-run --target two":  `there is no site "two"`,
		"rebalance --dry-run --space bank":  `there is no space "bank"`,
		"rebalance --dry-run --placement p": `no Placement "p" of any space has placed anything`,
	} {
		out, err := command(t, serve, line)
		if got := out + text(err); !strings.HasPrefix(got, want) {
			t.Errorf("skerry %s: %q, want %q", line, got, want)
		}
	}
}

func TestWhyNothingIsMoved(t *testing.T) {
	load := func(asked int64) siteLoad {
		return siteLoad{has: placement.Requests{CPU: 10000, Memory: 10}, asked: placement.Requests{CPU: asked}}
	}
	for want, loads := range map[string]map[string]siteLoad{
		"Nothing to even out: fewer than two sites": {"a": load(1)},
		"The load is even: b has the least load (0 %), c the most (9 %). Sites that differ by less than 10 %": {
			"a": load(500), "b": load(0), "c": load(900)},
		"No move would make the load more even: b has the least load (0 %), a the most (50 %)": {
			"a": load(5000), "b": load(0)},
	} {
		if is := (moveFilter{}).nothingToMove(loads); !strings.HasPrefix(is, want) {
			t.Errorf("got %q, want %q", is, want)
		}
	}
	cpu, memory := resource.MustParse("2"), resource.MustParse("100")
	if is := load(1000).within(&v1alpha1.Bounds{CPU: &cpu, Memory: &memory}); is.share() != 0.5 || is.has.Memory != 10 {
		t.Errorf("within bounds it has %+v", is.has)
	}
}

func TestADryRunOfADrain(t *testing.T) {
	sites := []v1alpha1.SyncTarget{loadedSite("a", "1"), loadedSite("b", "1")}
	state := &fleetState{}
	for i := range sites {
		state.world.Targets = append(state.world.Targets, targetOf(&sites[i]))
	}
	free, pinned, volume, held := anywhere("free", "a", 1), anywhere("pinned", "a", 1), anywhere("volume", "a", 1),
		anywhere("held", "a", 1)
	pinned.wish = placement.Wish{Names: []string{"a"}, Count: 1}
	volume.ties["a"] = ties{volumes: []string{"persistentvolumeclaims/data"}}
	held.suspended = true
	if state.drain("c") || !state.drain("a") {
		t.Fatal("another site is drained")
	}
	for u, want := range map[*unit]string{free: "", pinned: placement.StayPinned,
		volume: string(placement.VolumeWouldStay), held: string(placement.Suspended)} {
		d := state.leave(u, "a", time.Now())
		if d.Reason != want || (want == "") != slices.Equal(d.To, []string{"b"}) {
			t.Errorf("%s: %+v", u.key, d)
		}
	}
	if !slices.Equal(free.decision, []string{"b"}) || state.world.Targets[1].Requested.CPU != 1 {
		t.Errorf("what has left is on %v", free.decision)
	}
}

func TestADrainEndsWhenOnlyWhatIsStuckIsLeft(t *testing.T) {
	st := loadedSite("a", "1")
	w := drainWatch{options: DrainOptions{Output: "json"}, moves: map[string]string{}}
	st.Generation = 3
	st.Status.Conditions = append(st.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionDrained,
		Status: metav1.ConditionFalse, Reason: "CannotLeave", ObservedGeneration: 2})
	st.Status.Drain = &v1alpha1.SyncTargetDrain{Units: 1, Stuck: 1}
	now := time.Now()
	if done, err := w.look(&st, 3, now); done || err != nil || w.report.Site != "" {
		t.Errorf("an old status counts: %v", err)
	}
	st.Status.Conditions[1].ObservedGeneration = 3
	st.Status.Moves = []v1alpha1.MoveUnderWay{{Object: "shop/x", From: []string{"a"}, Message: "no other"}}
	if done, _ := w.look(&st, 3, now); done {
		t.Error("what has just begun counts as stuck")
	}
	done, err := w.look(&st, 3, now.Add(drainStuck))
	if !done || err == nil || !strings.Contains(err.Error(), "shop/x: no other") {
		t.Errorf("stuck: %v", err)
	}
	st.Status.Drain, st.Status.Moves = &v1alpha1.SyncTargetDrain{Reported: 2}, nil
	st.Status.Conditions[1].Reason, st.Status.Conditions[1].Message = v1alpha1.ReasonNotEmpty, "shop/db holds claims"
	w.stuck = time.Time{}
	if done, _ := w.look(&st, 3, now); done {
		t.Error("what the site keeps counts at once")
	}
	done, err = w.look(&st, 3, now.Add(drainStuck))
	if !done || err == nil || !strings.Contains(err.Error(), "all has left a, but shop/db holds claims") {
		t.Errorf("what the site keeps: %v", err)
	}
	st.Status.Conditions[1].Status = metav1.ConditionTrue
	if done, err := w.look(&st, 3, now); !done || err != nil || !w.report.Drained {
		t.Errorf("drained: %v", err)
	}
}

// TestRebalanceEndsWhereItCannotGoOn: what has moved is told, and nothing after what could not be moved is tried.
func TestRebalanceEndsWhereItCannotGoOn(t *testing.T) {
	var out strings.Builder
	plan := []rebalanced{{Object: "one", From: "a", To: []string{"b"}}, {Object: "two", From: "a", To: []string{"b"}},
		{Object: "three", From: "a", To: []string{"b"}}}
	stuck := errors.New("two has not left")
	err := RebalanceOptions{Out: &out}.carryOut(plan, func(m rebalanced) error {
		if m.Object == "two" {
			return stuck
		}
		return nil
	})
	if !errors.Is(err, stuck) || !plan[0].Moved || plan[1].Moved || strings.Contains(out.String(), "three") {
		t.Errorf("%v, %+v\n%s", err, plan, &out)
	}
	if !strings.Contains(out.String(), "one has moved") {
		t.Errorf("it says\n%s", &out)
	}
	dry := RebalanceOptions{Out: &out, DryRun: true}
	if err := dry.carryOut(plan, func(rebalanced) error { return stuck }); err != nil {
		t.Errorf("a dry run moves: %v", err)
	}
}
