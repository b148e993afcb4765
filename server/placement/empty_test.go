package placement

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// A relay that has no site yet is the last choice, however few objects it has, and is no reason to
// leave what is there.
func TestARelayWithoutSitesIsChosenLast(t *testing.T) {
	anywhere := Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 1}
	world := World{Targets: []Target{
		{Name: "a", Labels: labels.Set{}, Connected: true, Objects: 9},
		{Name: "nordic", Labels: labels.Set{}, Connected: true, Empty: true},
		{Name: "z", Labels: labels.Set{}, Objects: 1},
	}}
	for name, c := range map[string]struct {
		wish    Wish
		current []string
		want    string
	}{
		"another has sites": {anywhere, nil, "a"},
		"it is named":       {Wish{Names: []string{"nordic"}, Count: 1}, nil, "nordic"},
		"it is there":       {anywhere, []string{"nordic"}, "nordic"},
	} {
		if got := Choose(c.wish, world, c.current).Targets; len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	world.Targets = world.Targets[1:]
	if got := Choose(anywhere, world, nil).Targets; len(got) != 1 || got[0] != "nordic" {
		t.Errorf("the others are away: %v", got)
	}
}
