package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// certificates is a definition whose content is told by its singular name.
func certificates(space, singular string) store.Entry {
	return of(space, live("apiextensions.k8s.io", "customresourcedefinitions", "apiextensions.k8s.io/v1",
		"CustomResourceDefinition", "", "certificates.cert-manager.io",
		map[string]any{"spec": map[string]any{"group": "cert-manager.io", "scope": "Namespaced",
			"names":    map[string]any{"kind": "Certificate", "plural": "certificates", "singular": singular},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}}}}))
}

func (s *site) definition() string {
	o := s.api.Object("apiextensions.k8s.io", "customresourcedefinitions", "", "certificates.cert-manager.io")
	return dump(o["spec"])
}

// A space that brought a definition first does not change it under the spaces that share it.
func TestASharedDefinitionChangesForAll(t *testing.T) {
	inBubble(t, aSharedDefinitionChangesForAll)
}

func aSharedDefinitionChangesForAll(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{})
	s.desire(certificates("shop", "v1"))
	s.settled()
	s.desire(certificates("bank", "v1"))
	s.settled()
	s.desire(certificates("shop", "v2"))
	m := s.reported(certificates("shop", "v2"), "DefinitionNotAllowed")
	if !strings.Contains(m, "definitions: [shop=cert-manager.io]") || !strings.Contains(s.definition(), "singular:v1") {
		t.Errorf("message %q, definition %s", m, s.definition())
	}
	s.desire(certificates("bank", "v2"))
	eventually(t, "it changes when all want it", func() bool { return strings.Contains(s.definition(), "singular:v2") })
	s.healthy(certificates("shop", "v2"))
	s.healthy(certificates("bank", "v2"))
}

// A group that the site keeps for a space is squatted by nobody: others share what that space brings.
func TestTheSiteKeepsAGroup(t *testing.T) { inBubble(t, theSiteKeepsAGroup) }

func theSiteKeepsAGroup(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{Definitions: []string{"shop=*cert-manager.io"}})
	s.desire(certificates("bank", "v0"))
	if m := s.reported(certificates("bank", "v0"), "DefinitionNotAllowed"); !strings.Contains(m, "keeps definitions") {
		t.Errorf("message %q", m)
	}
	s.desire(certificates("shop", "v1"))
	s.healthy(certificates("shop", "v1"))
	s.desire(certificates("bank", "v1"))
	s.healthy(certificates("bank", "v1"))
	s.desire(certificates("shop", "v2"))
	eventually(t, "its space changes it", func() bool { return strings.Contains(s.definition(), "singular:v2") })
	s.reported(certificates("bank", "v1"), "DefinitionNotAllowed")
}

// Nobody brings the definition of a kind that the site denies.
func TestADeniedKindHasNoDefinition(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{DenyKinds: []string{"*.cert-manager.io"}})
	s.desire(certificates("shop", "v1"))
	if m := s.reported(certificates("shop", "v1"), "DefinitionNotAllowed"); !strings.Contains(m, "denyKinds") {
		t.Errorf("message %q", m)
	}
}
