package placement

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
)

// What must hold whatever happens, as far as it is decided here. server/binding has the list of the
// defects that each of these sees.
const (
	invBudgets = "budgets hold"
	invHalf    = "half the fleet lost is not left"
	invShares  = "shares never add up to more than count"
)

// drawnFleet is a fleet of which some targets are to be left, and a unit on some of them.
type drawnFleet struct {
	world        World
	all, current []string
	is           map[string]string
}

func drawFleet(t *rapid.T) drawnFleet {
	as := map[string]func(*Target){
		"well": nil, "drained": drained, "tainted": tainted, "removed": removed, "discarded": discarded,
		"cordoned": cordoned, "away": away(time.Hour, time.Minute), "lost": away(time.Hour, 2*time.Hour),
		"unwished": func(t *Target) { t.Labels = labels.Set{"name": t.Name, "other": ""} },
	}
	d := drawnFleet{is: map[string]string{}}
	states := []string{"well", "well", "well", "drained", "tainted", "removed", "discarded", "cordoned", "away", "lost", "unwished"}
	changes := map[string]func(*Target){}
	for i := range rapid.IntRange(1, 7).Draw(t, "targets") {
		name := fmt.Sprintf("t%d", i)
		d.is[name] = rapid.SampledFrom(states).Draw(t, name)
		d.all, changes[name] = append(d.all, name), as[d.is[name]]
		if rapid.Bool().Draw(t, "on "+name) {
			d.current = append(d.current, name)
		}
	}
	d.world = vacateWorld(changes, d.all...)
	return d
}

// wished matches all but what is unwished.
func wished(t *rapid.T) labels.Selector {
	s, err := labels.Parse("!other")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (d drawnFleet) of(current []string, states ...string) (out []string) {
	for _, name := range current {
		if slices.Contains(states, d.is[name]) {
			out = append(out, name)
		}
	}
	return out
}

// A drain, a taint, an absence or a removal leaves as many targets as a Placement demands: those that stay, and
// what comes for others where it is ready before they are left.
func TestBudgetsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawFleet(t)
		wish := Wish{Selectors: []labels.Selector{wished(t)}, Count: rapid.IntRange(0, 4).Draw(t, "count")}
		least := rapid.IntRange(0, 4).Draw(t, "minAvailable")
		if wish.Count > 0 {
			least = min(least, wish.Count)
		}
		terms := Terms{MinAvailable: least, BreakFirst: rapid.Bool().Draw(t, "breakFirst")}
		v := Vacate(wish, d.world, d.current, terms, noon)
		kept := v.Targets
		if terms.BreakFirst {
			kept = without(kept, without(kept, d.current)) // what comes is not ready before
		}
		most := len(d.current) - len(d.of(d.current, "discarded", "unwished")) // nobody can keep these
		if want := min(least, most); len(kept) < want {
			t.Fatalf("%s: of %v %v stay, %d must; %v", invBudgets, d.current, kept, want, d.is)
		}
	})
}

// While more than half of all targets are away, or to be left by no admin's will, what is on such targets stays.
func TestHalfTheFleetLostMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawFleet(t)
		lost, well := d.of(d.all, "tainted", "away", "lost"), d.of(d.all, "well", "cordoned", "unwished")
		if len(lost) <= len(well) {
			return
		}
		v := Vacate(Wish{Selectors: []labels.Selector{wished(t)}}, d.world, d.current, Terms{}, noon)
		for _, name := range d.of(d.current, "tainted", "away", "lost") {
			if !slices.Contains(v.Targets, name) {
				t.Fatalf("%s: %s of %v is left for %v; %v", invHalf, name, d.current, v.Targets, d.is)
			}
		}
	})
}

// Divided replicas are as many as there are to be; in a move no target has more than before it or after it.
func TestSharesNeverAddUpToMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, is, was := rapid.Int64Range(0, 500).Draw(t, "n"), drawWeights(t), drawWeights(t)
		before, after := NewDivision(was, nil).Shares(n), NewDivision(is, nil).Shares(n)
		for _, shares := range []map[string]int64{before, after} {
			sum := int64(0)
			for _, share := range shares {
				sum += share
			}
			if sum != n {
				t.Fatalf("%s: %d are divided as %v", invShares, n, shares)
			}
		}
		for name, share := range NewDivision(is, was).Shares(n) {
			if share != max(before[name], after[name]) {
				t.Fatalf("%s: %s has %d in a move from %v to %v", invShares, name, share, before, after)
			}
		}
	})
}
