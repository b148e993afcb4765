package store

import (
	"regexp"
	"strings"
	"testing"
)

// TestSystemPrefix: what a site takes as a prefix, another one for each space.
func TestSystemPrefix(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,29}[a-z0-9])?-$`)
	seen := map[string]string{}
	for _, space := range []string{"a", "shop", "team.shop", "team-shop", strings.Repeat("x", 63),
		strings.Repeat("x", 62), strings.Repeat("x", 23) + "-y", strings.Repeat("x", 23) + ".y"} {
		got := SystemPrefix(space)
		if !form.MatchString(got) || IsSystem(got+"kube-system") || seen[got] != "" {
			t.Errorf("%s: %s, as %q", space, got, seen[got])
		}
		seen[got] = space
	}
}
