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
		got := c.world.NoSuchTarget(c.names)
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) {
			t.Errorf("%v: %q, want %q", c.names, got, c.want)
		}
	}
}
