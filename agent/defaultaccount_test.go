package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

func defaultAccount(ns string) store.Entry {
	return live("", "serviceaccounts", "v1", "ServiceAccount", ns, "default", map[string]any{
		"imagePullSecrets": []any{map[string]any{"name": "pull"}}})
}

// TestDefaultAccountIsFilled: the account that every namespace of a cluster has gets what its space says,
// also where the cluster was first, and loses that again.
func TestDefaultAccountIsFilled(t *testing.T) {
	for name, first := range map[string]bool{"made by the agent": false, "made by the cluster": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := sealedSite(t, tunnel.Allow{})
				ns, account := spaceNamespace("shop", "u1", "app"), defaultAccount("app")
				s.desire(ns)
				s.settled()
				if first {
					s.api.PutAs("kube-controller-manager", "", "v1", "ServiceAccount", "app", "default", map[string]any{
						"secrets": []any{map[string]any{"name": "of-the-site"}}})
				}
				s.desire(account)
				s.settled()
				s.healthy(account)
				there := s.api.Object("", "serviceaccounts", "app", "default")
				if !strings.Contains(dump(there["imagePullSecrets"]), "pull") || first && there["secrets"] == nil {
					t.Fatalf("filled: %v", there)
				}
				s.desire(gone(account))
				s.settled()
				there = s.api.Object("", "serviceaccounts", "app", "default")
				if there == nil || strings.Contains(dump(there["imagePullSecrets"]), "pull") || first && there["secrets"] == nil {
					t.Fatalf("emptied: %v", there)
				}
				if notes, _ := metadata(there)["annotations"].(map[string]any); notes[target.AnnotationOrigin] != nil {
					t.Errorf("it has still %v", notes)
				}
				s.desire(account)
				s.settled()
				there = s.api.Object("", "serviceaccounts", "app", "default")
				if !strings.Contains(dump(there["imagePullSecrets"]), "pull") {
					t.Errorf("filled again: %v", there)
				}
			})
		})
	}
}

// TestDefaultAccountOfTheSiteStays: in a namespace that was there, the account is not the space's.
func TestDefaultAccountOfTheSiteStays(t *testing.T) { inBubble(t, defaultAccountOfTheSiteStays) }

func defaultAccountOfTheSiteStays(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.api.Put("v1", "Namespace", "", "app", nil)
	s.api.PutAs("kube-controller-manager", "", "v1", "ServiceAccount", "app", "default", nil)
	account := defaultAccount("app")
	s.desire(spaceNamespace("shop", "u1", "app"), account)
	if m := s.reported(account, "TakeOverNotAllowed"); !strings.Contains(m, "another ServiceAccount") {
		t.Errorf("message %q", m)
	}
	if there := s.api.Object("", "serviceaccounts", "app", "default"); there["imagePullSecrets"] != nil {
		t.Errorf("filled: %v", there)
	}
}
