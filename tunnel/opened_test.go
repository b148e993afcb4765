package tunnel

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What several sites open is opened once each; what a parent takes of it has bounds.
func TestOpened(t *testing.T) {
	var all Opened
	first := Opened{Controllers: []string{"shop", "bank"}}
	all.Add(first)
	all.Add(Opened{Controllers: []string{"shop"}, ClusterControllers: []string{"*"}})
	all.Add(Opened{Webhooks: []string{"shop"}})
	want := Opened{
		Controllers: []string{"bank", "shop"}, ClusterControllers: []string{"*"}, Webhooks: []string{"shop"},
	}
	if !reflect.DeepEqual(all, want) || !slices.Equal(first.Controllers, []string{"shop", "bank"}) || all.Equal(first) {
		t.Errorf("%+v, and of one site %+v", all, first)
	}
	for range 2 * maxAllowed {
		all.Controllers, all.Webhooks = append(all.Controllers, "x"), append(all.Webhooks, "x")
	}
	all.ClusterControllers = []string{strings.Repeat("x", maxAllowedText+1), "shop"}
	got := (&SubtreeStatus{Opened: all}).bounded().Opened
	if len(got.Controllers) != maxAllowed || len(got.Webhooks) != maxAllowed ||
		!slices.Equal(got.ClusterControllers, []string{"shop"}) {
		t.Errorf("%d are taken, and %q", len(got.Controllers), got.ClusterControllers)
	}
	if a, b := (&SubtreeStatus{Opened: first}), (&SubtreeStatus{}); a.Equal(b) {
		t.Error("what is opened is no news")
	}
	if hooks := (Opened{Webhooks: []string{"shop"}}); hooks.Equal(Opened{}) {
		t.Error("opened webhooks are no news")
	}
}

func TestIntersect(t *testing.T) {
	for _, c := range []struct{ a, b, want []string }{
		{[]string{"*"}, []string{"shop"}, []string{"shop"}},
		{[]string{"shop"}, []string{"sh*"}, []string{"shop"}},
		{[]string{"sh*"}, []string{"*op"}, nil},
		{[]string{"shop"}, []string{}, nil},
	} {
		if got := Intersect(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%q and %q leave %q", c.a, c.b, got)
		}
	}
}
