package agent

import (
	"net/http"
	"path"
	"slices"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// setIn is setWithClaims in a namespace.
func setIn(ns string) store.Entry {
	return live("apps", "statefulsets", "apps/v1", "StatefulSet", ns, "db", map[string]any{"spec": map[string]any{
		"selector":             map[string]any{"matchLabels": map[string]any{"app": "db"}},
		"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "data"}}},
	}})
}

// keptClaim is a site with a StatefulSet that has made a claim, and one that controls a claim.
func keptClaim(t *testing.T) (*site, store.Key) {
	t.Helper()
	s := newSite(t)
	s.desire(namespace("app"), setIn("app"))
	s.settled()
	<-s.observer.Ready()
	s.api.Put("v1", "PersistentVolumeClaim", "app", "data-db-0", labelled(map[string]any{"app": "db"}))
	claim := claimKey("data-db-0")
	claim.Namespace = "app"
	eventually(t, "the claim is reported", func() bool { return s.report(claim) != nil })
	return s, claim
}

// mark is what the target's claim says of whose it is.
func (s *site) mark() any {
	o := s.api.Object("", "persistentvolumeclaims", "app", "data-db-0")
	notes, _ := metadata(o)["annotations"].(map[string]any)
	return notes[target.AnnotationClaimOf]
}

// belongs reports whether a claim is reported as belonging to these objects.
func (s *site) belongs(t *testing.T, claim store.Key, to ...string) bool {
	t.Helper()
	r := s.report(claim)
	return r != nil && slices.Equal(ownersOf(t, r), to)
}

// TestClaimsStayWithTheirNamespace: the claim of a template is reported after its StatefulSet, also by
// an agent that starts anew, and a StatefulSet of that name takes it again. It keeps its Namespace at
// the target.
func TestClaimsStayWithTheirNamespace(t *testing.T) { inBubble(t, claimsStayWithTheirNamespace) }

func claimsStayWithTheirNamespace(t *testing.T) {
	s, claim := keptClaim(t)
	if !s.belongs(t, claim, "StatefulSet/db", "Namespace/app") {
		t.Errorf("it belongs to %v", ownersOf(t, s.report(claim)))
	}
	s.api.Put("v1", "PersistentVolumeClaim", "app", "mine", labelled(map[string]any{"app": "db"}))
	others := labelled(map[string]any{"app": "db"})
	metadata(others)["annotations"] = map[string]any{target.AnnotationClaimOf: "another namespace"}
	s.api.Put("v1", "PersistentVolumeClaim", "app", "data-db-9x", others)
	changed := live("", "namespaces", "v1", "Namespace", "", "app", map[string]any{"data": map[string]any{"a": "b"}})
	s.desire(changed)
	eventually(t, "the Namespace is written anew", func() bool {
		r, _ := s.inventory.Get(changed.Key)
		return r.Applied == changed.Hash
	})
	s.settled()
	s.desire(gone(setIn("app")))
	eventually(t, "the StatefulSet is gone", func() bool { return s.report(setIn("app").Key) == nil })
	if !s.belongs(t, claim, "Namespace/app") {
		t.Fatal("the claim was not reported in the moment that its StatefulSet went")
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			s.restart(true)
			<-s.observer.Ready()
			s.settled()
		}
		r := s.report(claim)
		if r == nil || !s.belongs(t, claim, "Namespace/app") || r.OriginUID != "source-namespaces-app" ||
			string(r.Status) != `{"phase":"Bound"}` {
			t.Fatalf("restarted %v: %s", restarted, dump(r))
		}
		if !s.observer.Placed(claim, s.uid("", "persistentvolumeclaims", "app", "data-db-0")) {
			t.Errorf("restarted %v: the parent may not delete it", restarted)
		}
		for _, name := range []string{"mine", "data-db-9x"} {
			k := claim
			if k.Name = name; s.report(k) != nil {
				t.Errorf("restarted %v: claim %s of somebody else is reported", restarted, name)
			}
		}
	}
	if s.mark() != "source-namespaces-app" {
		t.Errorf("it is marked %v", s.mark())
	}
	s.api.Remove("", "persistentvolumeclaims", "app", "mine")
	s.api.Remove("", "persistentvolumeclaims", "app", "data-db-9x")
	s.desire(setIn("app"))
	eventually(t, "a new one takes it", func() bool { return s.belongs(t, claim, "StatefulSet/db", "Namespace/app") })
	s.desire(gone(setIn("app")))
	eventually(t, "and leaves it", func() bool { return s.belongs(t, claim, "Namespace/app") })

	s.desire(gone(namespace("app")))
	eventually(t, "it keeps its namespace", func() bool {
		r := s.report(namespace("app").Key)
		return r != nil && r.Error != nil && r.Error.Reason == "NotEmpty"
	})
	if s.report(claim) == nil {
		t.Error("nobody sees why the namespace stays")
	}
	s.api.Remove("", "persistentvolumeclaims", "app", "data-db-0")
	eventually(t, "the claim goes", func() bool { return s.report(claim) == nil })
	eventually(t, "and the namespace", func() bool { return !s.exists(namespace("app")) })
}

// TestClaimsOfAStatefulSetThatTheTargetLost: they stay, whoever deleted it.
func TestClaimsOfAStatefulSetThatTheTargetLost(t *testing.T) {
	inBubble(t, claimsOfAStatefulSetThatTheTargetLost)
}

func claimsOfAStatefulSetThatTheTargetLost(t *testing.T) {
	s, claim := keptClaim(t)
	s.settled()
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool { // nobody makes it anew
		if r.Method != http.MethodPatch || path.Base(r.URL.Path) != "db" {
			return false
		}
		http.Error(w, "too busy", http.StatusServiceUnavailable)
		return true
	})
	s.api.Remove("apps", "statefulsets", "app", "db")
	s.restart(true)
	<-s.observer.Ready()
	s.desire(gone(setIn("app")))
	eventually(t, "it is left", func() bool { return s.belongs(t, claim, "Namespace/app") })
	eventually(t, "it is marked", func() bool { return s.mark() == "source-namespaces-app" })
	s.restart(true)
	<-s.observer.Ready()
	eventually(t, "it is there after a restart", func() bool { return s.belongs(t, claim, "Namespace/app") })
}

// TestClaimsThatDoNotStay: a StatefulSet that is let go takes its claims along, and the claims of one
// that deletes them are its own.
func TestClaimsThatDoNotStay(t *testing.T) { inBubble(t, claimsThatDoNotStay) }

func claimsThatDoNotStay(t *testing.T) {
	s, claim := keptClaim(t)
	s.desire(gone(setIn("app")))
	eventually(t, "it is left", func() bool { return s.belongs(t, claim, "Namespace/app") })
	s.desire(setIn("app"))
	eventually(t, "it is taken", func() bool { return s.belongs(t, claim, "StatefulSet/db", "Namespace/app") })
	s.settled()
	s.desire(removed(setIn("app"), store.RemoveOrphan))
	eventually(t, "it goes with what is let go", func() bool { return s.report(claim) == nil })
	if !s.exists(setIn("app")) || s.mark() != nil {
		t.Errorf("the StatefulSet is there: %v; its claim is marked %v", s.exists(setIn("app")), s.mark())
	}

	s, claim = keptClaim(t)
	uid := s.uid("apps", "statefulsets", "app", "db")
	s.api.Put("v1", "PersistentVolumeClaim", "app", "data-db-1", owned(uid))
	second := claim
	second.Name = "data-db-1"
	eventually(t, "the second is reported", func() bool { return s.belongs(t, second, "StatefulSet/db") })
	s.desire(gone(setIn("app")))
	eventually(t, "only the first stays", func() bool {
		return s.belongs(t, claim, "Namespace/app") && s.report(second) == nil
	})
}

// TestClaimsOfARelayStayWithoutAMark: a relay shows claims of its own targets, which mark them.
func TestClaimsOfARelayStayWithoutAMark(t *testing.T) { inBubble(t, claimsOfARelayStayWithoutAMark) }

func claimsOfARelayStayWithoutAMark(t *testing.T) {
	s := newSite(t)
	s.desire(namespace("app"), setIn("app"))
	s.settled()
	<-s.observer.Ready()
	shown := labelled(map[string]any{"app": "db"})
	metadata(shown)["annotations"] = map[string]any{target.AnnotationReportedFrom: "leaf"}
	s.api.Put("v1", "PersistentVolumeClaim", "app", "data-db-0", shown)
	claim := claimKey("data-db-0")
	claim.Namespace = "app"
	eventually(t, "it is reported", func() bool { return s.belongs(t, claim, "StatefulSet/db", "Namespace/app") })
	s.desire(gone(setIn("app")))
	eventually(t, "it is left", func() bool { return s.belongs(t, claim, "Namespace/app") })
	s.restart(true)
	<-s.observer.Ready()
	eventually(t, "after a restart, too", func() bool { return s.belongs(t, claim, "Namespace/app") })
	if s.mark() != nil || s.writesTo("data-db-0") != 0 {
		t.Errorf("it is marked %v, %d writes", s.mark(), s.writesTo("data-db-0"))
	}
}
