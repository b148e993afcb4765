package agent

import (
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// TestAFoundNamespaceGetsItsRights: a crash comes between the write of a Namespace and the rights of its
// space there, and the search of the next start finds the Namespace. What the site's admin takes away
// later stays away.
func TestAFoundNamespaceGetsItsRights(t *testing.T) { inBubble(t, aFoundNamespaceGetsItsRights) }

func aFoundNamespaceGetsItsRights(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.agent.applier.Gate.Impersonate = true
	ns := spaceNamespace("shop", "u1", "app")
	s.desire(ns)
	s.settled()
	const rbac = "rbac.authorization.k8s.io"
	takeAway := func() {
		for _, role := range []string{"skerry-space", "skerry-space-definitions"} {
			if s.api.Object(rbac, "rolebindings", "app", role) == nil {
				t.Fatalf("there is no binding %s", role)
			}
			s.api.Remove(rbac, "rolebindings", "app", role)
		}
	}
	takeAway()
	was, _ := s.inventory.Get(ns.Key)
	s.inventory.Put(ns.Key, inventory.Record{UID: was.UID, Created: true, APIVersion: "v1", Kind: "Namespace",
		OriginUID: was.OriginUID, Claims: true})
	s.applier.Changed([]store.Key{ns.Key})
	s.settled()
	takeAway()
	s.api.Edit("somebody", "", "namespaces", "", "app", map[string]any{"metadata": map[string]any{
		"labels": map[string]any{"team": "b"}}})
	eventually(t, "the Namespace is written again", func() bool {
		labels, _ := s.metadataOf(ns)
		return labels["team"] == "a"
	})
	s.settled()
	if s.api.Object(rbac, "rolebindings", "app", "skerry-space") != nil {
		t.Error("what the site's admin took away came back")
	}
}
