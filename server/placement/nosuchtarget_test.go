package placement

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// A name that leads nowhere is told with those that the space has, and with none that others have.
func TestNoSuchTarget(t *testing.T) {
	all := World{
		Targets:   []Target{{Name: "oslo", Labels: labels.Set{"of": "shop"}}, {Name: "paris", Labels: labels.Set{"of": "bank"}}},
		Locations: []Location{{"north", labels.SelectorFromSet(labels.Set{"of": "shop"})}},
	}
	some := all
	some.Offered = labels.SelectorFromSet(labels.Set{"of": "shop"})
	for _, c := range []struct {
		world World
		names []string
		want  string
	}{
		{all, []string{"oslo", "paris", "north"}, ""},
		{all, []string{"osol"}, `"osol" is neither a SyncTarget nor a Location; correct the name, or have a site join by it; ` +
			"there is oslo, paris"},
		{some, []string{"oslo", "paris"}, `no Location "paris"; correct the name, or have the center's admin offer it ` +
			"(locationSelector of the Space); there is oslo"},
		{World{}, []string{"oslo"}, "have a site join by it"},
	} {
		got := c.world.NoSuchTarget(c.names, nil)
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) {
			t.Errorf("%v: %q, want %q", c.names, got, c.want)
		}
	}
}

// Labels that nobody has are told, and those that only a target of others has.
func TestNoTargetIsSelected(t *testing.T) {
	world := World{
		Targets: []Target{{Name: "oslo", Labels: labels.Set{"of": "shop"}}, {Name: "paris", Labels: labels.Set{"of": "bank"}}},
		Offered: labels.SelectorFromSet(labels.Set{"of": "shop"}),
	}
	for text, want := range map[string]string{
		"": "", "of=shop": "", "of!=bank": "",
		"of=bank": `no SyncTarget has the labels "of=bank"; correct them, or have the center's admin label one; there is oslo`,
	} {
		s, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := world.NoSuchTarget(nil, []labels.Selector{labels.Everything(), s}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := (World{}).NoSuchTarget(nil, []labels.Selector{labels.Everything()}); !strings.Contains(got, "have a site join") {
		t.Errorf("without any: %q", got)
	}
	if got := world.NoSuchTarget([]string{"oslo"}, []labels.Selector{labels.Everything()}); got != "" {
		t.Errorf("%q", got)
	}
}
