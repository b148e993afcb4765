package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

// TestElsewhere: who looks for Pods is told of which objects there are none, and where to look.
func TestElsewhere(t *testing.T) {
	if text := Elsewhere("shop", nil); text != "" {
		t.Errorf("of nothing: %q", text)
	}
	one := func(name string) Located {
		return Located{Key: store.Key{Resource: "deployments", Namespace: "web", Name: name},
			Targets: []string{"paris", "oslo"}}
	}
	text := Elsewhere("shop", []Located{one("a"), one("b"), one("c"), one("d"), one("e")})
	for _, part := range []string{"deployments/a in web (2 targets)", "deployments/c in web", "2 more",
		"at most 10 targets", "skerry space use shop --at paris"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
	if strings.Contains(text, "deployments/d") {
		t.Errorf("too many names: %q", text)
	}
}
