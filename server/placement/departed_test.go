package placement

import (
	"testing"

	"skerry.dev/skerry/store"
)

// TestDepartedMessage: what is said is what is known, and no more.
func TestDepartedMessage(t *testing.T) {
	web := store.Key{Group: "apps", Resource: "deployments", Name: "web"}
	for _, c := range []struct {
		pods, on []string
		placed   bool
		want     string
	}{
		{nil, nil, false, "it was at paris, of deployments/web, which is at no target any more"},
		{nil, []string{"oslo"}, true,
			"it was at paris, of deployments/web, which is now at oslo and has no Pod that is known yet"},
		{[]string{"web-1"}, []string{"oslo"}, true, "it was at paris, of deployments/web, which is now at oslo with web-1"},
		{[]string{"a", "b", "c", "d", "e"}, []string{"s", "t", "u", "v"}, true,
			"it was at paris, of deployments/web, which is now at s, t, u and 1 more with a, b, c and 2 more"},
	} {
		got := Departed{Owner: web, Target: "paris", Pods: c.pods}.Message(Located{Targets: c.on}, c.placed)
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
