package agent

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// writers returns by whom each object was written, by the last part of its path.
func writers(api *targettest.Server) map[string]string {
	by := map[string]string{}
	for _, w := range api.Writes() {
		by[filepath.Base(w.Path)] = w.User
	}
	return by
}

func TestSpacesWriteAsTheirOwnAccount(t *testing.T) { inBubble(t, spacesWriteAsTheirOwnAccount) }

func spacesWriteAsTheirOwnAccount(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.agent.applier.Gate.Impersonate = true
	ns, c, definition := spaceNamespace("shop", "u1", "app"), configMap("app", "c", "1"), crd("widgets", "Widget")
	widget := live("example.com", "widgets", "example.com/v1", "Widget", "app", "w", nil)
	s.desire(ns, c, definition, widget)
	s.settled()
	const account = "system:serviceaccount:skerry-spaces:shop"
	by := writers(s.api)
	if by["c"] != account || by["w"] != account || by["app"] != "" || by["widgets.example.com"] != "" {
		t.Errorf("written by %v", by)
	}
	for _, o := range []map[string]any{
		s.api.Object("", "serviceaccounts", "skerry-spaces", "shop"),
		s.api.Object("rbac.authorization.k8s.io", "rolebindings", "app", "skerry-space"),
		s.api.Object("rbac.authorization.k8s.io", "clusterroles", "", "skerry-space"),
	} {
		if o == nil {
			t.Error("an account, its role or its binding is missing")
		}
	}
	if role := dump(s.api.Object("rbac.authorization.k8s.io", "clusterroles", "",
		"skerry-space-definitions")); !strings.Contains(
		role,
		"example.com",
	) {
		t.Errorf("the role of definitions is %s", role)
	}
	s.desire(gone(ns), gone(c), gone(widget))
	s.settled()
	if by := writers(s.api); by["c"] != account || s.exists(ns) {
		t.Errorf("deleted by %v, and the namespace is there: %v", by, s.exists(ns))
	}
}

func TestTheSitesRBACHasTheLastWord(t *testing.T) { inBubble(t, theSitesRBACHasTheLastWord) }

func theSitesRBACHasTheLastWord(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.agent.applier.Gate.Impersonate = true
	c := configMap("app", "c", "1")
	s.api.Refuse(func(_, plural, _ string) *targettest.Refusal {
		if plural != "configmaps" {
			return nil
		}
		return &targettest.Refusal{
			Code:    http.StatusForbidden,
			Reason:  "Forbidden",
			Message: `configmaps "c" is forbidden: User "system:serviceaccount:skerry-spaces:shop" cannot patch`,
		}
	})
	s.desire([]store.Entry{spaceNamespace("shop", "u1", "app"), c}...)
	if m := s.reported(c, "Forbidden"); !strings.Contains(m, "ClusterRole skerry-space") {
		t.Errorf("message %q", m)
	}
}

// TestANamespaceThatGoesIsNamed: who deletes a namespace at the site deletes the space's RoleBinding in it.
// What is refused for that is not the site's admin's word.
func TestANamespaceThatGoesIsNamed(t *testing.T) { inBubble(t, aNamespaceThatGoesIsNamed) }

func aNamespaceThatGoesIsNamed(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.agent.applier.Gate.Impersonate = true
	ns, c := spaceNamespace("shop", "u1", "app"), configMap("app", "c", "1")
	s.desire(ns)
	s.settled()
	live := s.api.Object("", "namespaces", "", "app")
	live["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	live["status"] = map[string]any{"phase": "Terminating", "conditions": []any{map[string]any{"status": "True",
		"type": "NamespaceFinalizersRemaining", "message": "example.com/x in 1 resource instances"}}}
	s.api.Put("v1", "Namespace", "", "app", live)
	s.api.Refuse(func(_, plural, _ string) *targettest.Refusal {
		if plural != "configmaps" {
			return nil
		}
		return &targettest.Refusal{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: `configmaps "c" is forbidden: User "system:serviceaccount:skerry-spaces:shop" cannot patch`}
	})
	s.desire(c)
	m := s.reported(c, "NamespaceTerminating")
	if !strings.Contains(m, "namespace app") || !strings.Contains(m, "example.com/x in 1 resource instances") {
		t.Errorf("message %q", m)
	}
}
