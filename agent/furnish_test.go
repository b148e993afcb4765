package agent

import (
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// looked is how often the controllers of the cluster were told to look at a namespace again.
func (s *site) looked(name string) (n int) {
	for _, w := range s.api.Writes() {
		if w.Method == "PATCH" && strings.HasSuffix(w.Path, "/namespaces/"+name) &&
			strings.Contains(w.Body, `look-again":"`) {
			n++
		}
	}
	return n
}

// furnished has the namespace what controllers make in it.
func (s *site) furnished(name string) {
	s.api.Put("v1", "ServiceAccount", name, "default", nil)
	s.api.Put("v1", "ConfigMap", name, "kube-root-ca.crt", nil)
}

// TestANamespaceThatIsMadeAgainIsFurnished: controllers that were refused, because the namespace of the same name had
// just gone, are told to look again until what they make is there.
func TestANamespaceThatIsMadeAgainIsFurnished(t *testing.T) {
	inBubble(t, aNamespaceThatIsMadeAgainIsFurnished)
}

func aNamespaceThatIsMadeAgainIsFurnished(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	ns, other := spaceNamespace("shop", "u1", "app"), spaceNamespace("shop", "u1", "other")
	s.desire(ns, other)
	s.applied(ns)
	s.applied(other)
	time.Sleep(time.Minute)
	if s.looked("app") != 0 {
		t.Fatal("a new namespace is left to the controllers")
	}
	again := func(e store.Entry) {
		s.api.Remove("", "namespaces", "", e.Key.Name)
		eventually(t, "it is there again", func() bool { return s.exists(e) })
	}
	again(other)
	s.furnished("other")
	again(ns)
	eventually(t, "the controllers are told", func() bool { return s.looked("app") == 2 })
	if notes := s.api.Object("", "namespaces", "", "app")["metadata"].(map[string]any)["annotations"]; strings.Contains(
		dump(notes), "look-again") {
		t.Errorf("something is left: %v", notes)
	}
	s.furnished("app")
	time.Sleep(time.Minute)
	if n := s.looked("app"); n != 2 {
		t.Errorf("told %d times after it is furnished", n-2)
	}
	if s.looked("other") != 0 {
		t.Error("what has everything is left alone")
	}
	s.api.Remove("", "serviceaccounts", "app", "default")
	again(ns)
	time.Sleep(time.Minute)
	if n := s.looked("app"); n != 2+5 {
		t.Errorf("a cluster that makes nothing is told %d times", n-2)
	}
}
