package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// widgets is a definition in a scope, with a kind.
func widgets(scope, kind string) store.Entry {
	return live("apiextensions.k8s.io", "customresourcedefinitions", "apiextensions.k8s.io/v1",
		"CustomResourceDefinition", "", "widgets.example.com", map[string]any{"spec": map[string]any{
			"group": "example.com", "scope": scope, "names": map[string]any{"plural": "widgets", "kind": kind},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
		}})
}

func widget(kind, ns, name string) store.Entry {
	return live("example.com", "widgets", "example.com/v1", kind, ns, name, map[string]any{"spec": map[string]any{"a": 1}})
}

func (s *site) defined(scope, kind string) bool {
	o := s.api.Object("apiextensions.k8s.io", "customresourcedefinitions", "", "widgets.example.com")
	text, err := json.Marshal(o["spec"])
	return err == nil && strings.Contains(string(text), `"scope":"`+scope+`"`) &&
		strings.Contains(string(text), `"kind":"`+kind+`"`)
}

// A definition that was deleted in its space and made anew with another scope, or another kind, while its site was
// cut off takes the place of the earlier one there, also when the site has lost its record.
func TestADefinitionMadeAnewOtherwise(t *testing.T) {
	for name, lost := range map[string]bool{"known": false, "after a loss": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) { definitionMadeAnewOtherwise(t, lost) })
		})
	}
}

func definitionMadeAnewOtherwise(t *testing.T, lost bool) {
	s := newSite(t)
	s.clients.SetSite("this-site")
	was, a, b := widgets("Namespaced", "Widget"), widget("Widget", "default", "a"), widget("Widget", "default", "b")
	s.desire(was, a, b)
	s.settled()
	if lost {
		s.inventory.Delete(was.Key)
	}
	scoped, whole := anew(widgets("Cluster", "Widget")), widget("Widget", "", "a")
	s.desire(gone(a), gone(b), scoped, whole)
	s.healthy(scoped)
	s.healthy(whole)
	if !s.defined("Cluster", "Widget") || s.exists(a) || s.exists(b) {
		t.Errorf("the definition: %s", dump(s.api.Objects("apiextensions.k8s.io", "customresourcedefinitions", "")))
	}
	third, named := widgets("Cluster", "Gadget"), anew(widget("Gadget", "", "a"))
	third.Body = []byte(strings.Replace(string(third.Body), `"source-`, `"third-source-`, 1))
	third.Hash = store.HashBody(third.Generation, third.Body)
	s.desire(third, named)
	s.healthy(third)
	s.healthy(named)
	if o := s.api.Object("example.com", "widgets", "", "a"); !s.defined("Cluster", "Gadget") || o["kind"] != "Gadget" {
		t.Errorf("of the third definition: %s", dump(o))
	}
	if r := s.report(named.Key); r.Error != nil {
		t.Errorf("its end was no deletion by others: %s", dump(r))
	}
}

// What somebody else has of an earlier definition is not deleted with it: it says whose it is, and the new
// definition comes when that is gone. What has a tombstone is waited for: it may be withheld.
func TestOthersKeepAnEarlierDefinition(t *testing.T) { inBubble(t, othersKeepAnEarlierDefinition) }

func othersKeepAnEarlierDefinition(t *testing.T) {
	s := newSite(t)
	was, a := widgets("Namespaced", "Widget"), widget("Widget", "default", "a")
	s.desire(was, a)
	s.settled()
	s.api.Put("example.com/v1", "Widget", "default", "theirs", nil)
	s.api.Put("example.com/v1", "Widget", "default", "a", map[string]any{"metadata": map[string]any{
		"finalizers": []any{"example.com/hold"}}})
	scoped := anew(widgets("Cluster", "Widget"))
	s.desire(gone(a), scoped)
	if m := s.reported(scoped, "Deleting"); !strings.Contains(m, "scope Cluster instead of Namespaced") {
		t.Errorf("message %q", m)
	}
	s.api.Remove("example.com", "widgets", "default", "a")
	m := s.reported(scoped, "NotEmpty")
	if !strings.Contains(m, "default/theirs; remove them") || !strings.Contains(m, "scope Cluster instead of Namespaced") {
		t.Errorf("message %q", m)
	}
	if !s.defined("Namespaced", "Widget") || s.api.Object("example.com", "widgets", "default", "theirs") == nil {
		t.Error("it has gone with what is in it")
	}
	s.api.Remove("example.com", "widgets", "default", "theirs")
	s.applier.Retry() // a refusal is looked at again within two minutes
	s.healthy(scoped)
	if !s.defined("Cluster", "Widget") {
		t.Error("the new one is not there")
	}
}

// A definition that several spaces share is made anew when all of them want it, and not before.
func TestASharedDefinitionIsMadeAnewForAll(t *testing.T) {
	inBubble(t, sharedDefinitionIsMadeAnewForAll)
}

func sharedDefinitionIsMadeAnewForAll(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{})
	was := widgets("Namespaced", "Widget")
	s.desire(was, widget("Widget", "app", "a"))
	s.settled()
	s.desire(of("bank", was), of("bank", widget("Widget", "vault", "b")))
	s.settled()
	next := anew(widgets("Cluster", "Widget"))
	s.desire(next, gone(widget("Widget", "app", "a")))
	if m := s.reported(next, "DefinitionNotAllowed"); !strings.Contains(m, `space "bank" shares`) {
		t.Errorf("message %q", m)
	}
	if !s.exists(of("bank", widget("Widget", "vault", "b"))) {
		t.Error("what the other space has is gone")
	}
	s.desire(of("bank", next), gone(of("bank", widget("Widget", "vault", "b"))))
	s.healthy(next)
	s.healthy(of("bank", next))
	if !s.defined("Cluster", "Widget") {
		t.Error("the new one is not there")
	}
	ours, theirs := widget("Widget", "", "a"), of("bank", widget("Widget", "", "b"))
	s.desire(ours, theirs)
	s.healthy(ours)
	s.healthy(theirs)
	third := anew(next)
	third.Body = []byte(strings.Replace(string(widgets("Cluster", "Gadget").Body), `"source-`, `"third-source-`, 1))
	third.Hash = store.HashBody(third.Generation, third.Body)
	ours, theirs = anew(widget("Gadget", "", "a")), of("bank", anew(widget("Gadget", "", "b")))
	s.desire(third, ours)
	s.reported(third, "DefinitionNotAllowed")
	s.desire(of("bank", third), theirs)
	for _, e := range []store.Entry{third, of("bank", third), ours, theirs} {
		s.healthy(e)
	}
}
