package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/upsync"
)

// upsyncOf is an Upsync of the space.
func upsyncOf(name string, clauses ...upsync.Clause) store.Entry {
	return live("skerry.dev", "upsyncs", "skerry.dev/v1alpha1", "Upsync", "", name, map[string]any{
		"spec": map[string]any{"objects": clauses},
	})
}

func madeSecrets() upsync.Clause {
	return upsync.Clause{APIVersion: "v1", Resources: []string{"secrets"}, Names: []string{"made", "token", "ours"}}
}

func secretKey(name string) store.Key {
	return upsync.Key(store.Key{Space: space, Resource: "secrets", Namespace: "app", Name: name})
}

func (s *site) secret(ns, name, value string) {
	s.api.Put("v1", "Secret", ns, name, map[string]any{"type": "Opaque", "data": map[string]any{"password": value},
		"metadata": map[string]any{"labels": map[string]any{"made": "here", "skerry.dev/target": "x"}}})
}

// brings waits until an object is reported with a text in it.
func (s *site) brings(k store.Key, text string) {
	s.t.Helper()
	eventually(s.t, k.String()+" is reported with "+text, func() bool {
		r := s.report(k)
		return r != nil && strings.Contains(string(r.Object), text)
	})
}

func (s *site) tells(rule store.Entry) (out upsync.Status) {
	s.t.Helper()
	if r := s.report(rule.Key); r != nil && len(r.Status) > 0 {
		if err := json.Unmarshal(r.Status, &out); err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

func TestWhatIsBornHereIsReported(t *testing.T) { inBubble(t, whatIsBornHereIsReported) }

func whatIsBornHereIsReported(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Upsync: []string{space}})
	rule := upsyncOf("apps", madeSecrets())
	s.secret("app", "made", "first")
	s.desire(rule, namespace("app"), live("", "secrets", "v1", "Secret", "app", "ours", map[string]any{
		"data": map[string]any{"password": "delivered"}}))
	<-s.observer.Ready()
	s.settled()
	s.secret("app", "made", "second")
	s.secret("app", "unlisted", "hidden")
	s.secret("default", "made", "foreign")
	s.api.Put("v1", "Secret", "app", "token", map[string]any{"type": "kubernetes.io/service-account-token"})
	s.brings(secretKey("made"), "second")
	r := s.report(secretKey("made"))
	if r.OriginUID != "source-upsyncs-apps" || strings.Contains(string(r.Object), "skerry.dev") ||
		!strings.Contains(string(r.Object), `"namespace":"app"`) || !strings.Contains(string(r.Object), `"made":"here"`) {
		t.Errorf("it is reported as %s of %s", r.Object, r.OriginUID)
	}
	eventually(t, "the token is said to stay", func() bool {
		is := s.tells(rule)
		return is.Objects == 1 && is.LeftOut == 1 && is.Problems[0].Reason == upsync.ReasonNotBrought
	})
	for _, name := range []string{"unlisted", "token", "ours"} {
		if s.report(secretKey(name)) != nil {
			t.Errorf("Secret %s is reported", name)
		}
	}
	if is := s.report(rule.Key); is.Applied != rule.Hash.String() || is.Error != nil {
		t.Errorf("the rule is reported as %s", dump(is))
	}

	for _, crash := range []bool{false, true} {
		s.restart(crash)
		<-s.observer.Ready()
		if r := s.report(secretKey("made")); r == nil || !strings.Contains(string(r.Object), "second") {
			t.Fatalf("after a start (crash %v) the complete feed lacks it", crash)
		}
	}
	s.api.Remove("", "secrets", "app", "made")
	eventually(t, "it goes", func() bool { return s.report(secretKey("made")) == nil })
	s.secret("app", "made", "third")
	s.brings(secretKey("made"), "third")
	s.desire(gone(rule))
	eventually(t, "it goes with its rule", func() bool {
		return s.report(secretKey("made")) == nil && s.report(rule.Key) == nil
	})
	for _, w := range s.api.Writes() {
		if strings.Contains(w.Path, "upsyncs") {
			t.Errorf("the rule was written to the target: %s", w.Path)
		}
	}
}

func TestTheSiteSaysWhoMayBring(t *testing.T) { inBubble(t, theSiteSaysWhoMayBring) }

func theSiteSaysWhoMayBring(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	rule := upsyncOf("apps", madeSecrets())
	s.desire(rule, namespace("app"))
	<-s.observer.Ready()
	s.settled()
	s.secret("app", "made", "hidden")
	eventually(t, "the site refuses", func() bool {
		r := s.report(rule.Key)
		return r != nil && r.Error != nil && r.Error.Reason == upsync.ReasonNotAllowed &&
			strings.Contains(r.Error.Message, "upsync: [shop]")
	})
	if n := s.api.Listed("/api/v1/secrets"); n != 0 {
		t.Errorf("Secrets were listed %d times", n)
	}
	s.allow = &tunnel.Allow{Upsync: []string{"sh*"}}
	s.restart(false)
	s.brings(secretKey("made"), "hidden")
	s.narrowed(&tunnel.Narrow{Upsync: []string{"other"}})
	eventually(t, "the parent takes it away", func() bool {
		r := s.report(rule.Key)
		return s.report(secretKey("made")) == nil && r.Error != nil && strings.Contains(r.Error.Message, "spec.allow.upsync")
	})
	s.narrowed(nil)
	s.brings(secretKey("made"), "hidden")
}

func TestWhatExistedStaysTheSites(t *testing.T) { inBubble(t, whatExistedStaysTheSites) }

func whatExistedStaysTheSites(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Upsync: []string{"*"}, Namespaces: []string{"app"}})
	s.api.Put("v1", "Namespace", "", "app", nil)
	s.secret("app", "made", "of the site")
	rule := upsyncOf("apps", madeSecrets())
	s.desire(rule, namespace("app"), configMap("app", "a", "b"))
	<-s.observer.Ready()
	s.settled()
	eventually(t, "the namespace is the space's", func() bool { return s.exists(configMap("app", "a", "b")) })
	if notes, _ := metadata(s.api.Object("", "namespaces", "", "app"))["annotations"].(map[string]any); notes[target.AnnotationExisted] == nil {
		t.Fatal("the namespace is not marked as one that existed")
	}
	s.desire(namespace("own"))
	s.settled()
	s.secret("own", "made", "of the space")
	own := secretKey("made")
	own.Namespace = "own"
	s.brings(own, "of the space")
	if s.report(secretKey("made")) != nil {
		t.Error("what was in a namespace of the site is reported")
	}
}

func TestWhatIsTooMuchIsLeftOut(t *testing.T) { inBubble(t, whatIsTooMuchIsLeftOut) }

func whatIsTooMuchIsLeftOut(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Upsync: []string{space}})
	rule := upsyncOf("apps", upsync.Clause{Resources: []string{"configmaps"}})
	s.desire(rule, namespace("app"))
	<-s.observer.Ready()
	s.settled()
	put := func(name, data string) {
		s.api.Put("v1", "ConfigMap", "app", name, map[string]any{"data": map[string]any{"a": data}})
	}
	for i := range upsync.MaxObjects + 5 {
		put(fmt.Sprintf("n%03d", i), "x")
	}
	eventually(t, "the limit is reached", func() bool {
		is := s.tells(rule)
		return is.Objects == upsync.MaxObjects && is.LeftOut == 5 && is.Problems[0].Reason == upsync.ReasonLimit
	})
	left := strings.TrimPrefix(s.tells(rule).Problems[0].Object, "configmaps/app/")
	k := upsync.Key(store.Key{Space: space, Resource: "configmaps", Namespace: "app", Name: left})
	if s.report(k) != nil {
		t.Fatalf("%s is said to be left out, and reported", left)
	}
	for i := range 5 {
		s.api.Remove("", "configmaps", "app", fmt.Sprintf("n%03d", i))
	}
	eventually(t, "there is room for the rest", func() bool {
		is := s.tells(rule)
		return is.Objects == upsync.MaxObjects && is.LeftOut == 0 && s.report(k) != nil
	})
	s.api.Remove("", "configmaps", "app", "n010")
	put("large", strings.Repeat("x", upsync.MaxBytes))
	eventually(t, "one is too large", func() bool {
		is := s.tells(rule)
		return is.Objects == upsync.MaxObjects-1 && is.LeftOut == 1 && is.Problems[0].Object == "configmaps/app/large"
	})
	put("large", "small now")
	eventually(t, "it fits", func() bool { return s.tells(rule).LeftOut == 0 })
}
