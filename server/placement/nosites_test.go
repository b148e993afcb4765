package placement

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// Where no site has joined, nobody is told to change a selector.
func TestWithoutAnySite(t *testing.T) {
	c := Choose(Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 1}, World{}, nil)
	if c.Reason != "NoTargets" || !strings.Contains(c.Message, "have a site join") || strings.Contains(c.Message, "change the selector") {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
	world := World{Targets: []Target{{Name: "a", Connected: true}}}
	c = Choose(Wish{Selectors: []labels.Selector{labels.Nothing()}, Count: 1}, world, nil)
	if c.Reason != "NoTargets" || !strings.Contains(c.Message, "change the selector") {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
}
