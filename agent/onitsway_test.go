package agent

import (
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// What is on its way over a busy link is not said to be missing, and what is missing is.
func TestWhatIsOnItsWayIsNotSaidToBeMissing(t *testing.T) {
	inBubble(t, whatIsOnItsWayIsNotSaidToBeMissing)
}

func whatIsOnItsWayIsNotSaidToBeMissing(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	const gateways = "gateway.networking.k8s.io"
	s.api.Serve(targettest.Kind{Group: gateways, Version: "v1", Plural: "gateways", Kind: "Gateway", Namespaced: true})
	definition := live("apiextensions.k8s.io", "customresourcedefinitions", "apiextensions.k8s.io/v1",
		"CustomResourceDefinition", "", "routes."+gateways, map[string]any{
			"metadata": map[string]any{"name": "routes." + gateways, "annotations": map[string]any{
				"api-approved.kubernetes.io": "https://example.com/review"}},
			"spec": map[string]any{"group": gateways, "scope": "Namespaced",
				"names":    map[string]any{"kind": "Route", "plural": "routes"},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}}}})
	app := live("apps", "deployments", "apps/v1", "Deployment", "app", "web", map[string]any{"spec": map[string]any{
		"template": map[string]any{"spec": map[string]any{"serviceAccountName": "mine", "containers": []any{}}}}})
	widget := live("example.com", "widgets", "example.com/v1", "Widget", "app", "w", nil)
	s.desire(spaceNamespace("shop", "u1", "app"), app, widget, definition)
	for range 50 {
		time.Sleep(100 * time.Millisecond)
		for _, e := range []store.Entry{app, widget, definition} {
			if r := s.report(e.Key); r != nil && r.Error != nil {
				t.Fatalf("%s is said to be refused: %+v", e.Key, r.Error)
			}
		}
	}
	s.reported(app, "ServiceAccountNotAllowed")
	s.reported(widget, "KindNotAllowed")
	if m := s.reported(definition, "DefinitionNotAllowed"); !strings.Contains(m, "serves it itself") {
		t.Errorf("message %q", m)
	}
	s.desire(live("", "serviceaccounts", "v1", "ServiceAccount", "app", "mine", nil), crd("widgets", "Widget"))
	s.healthy(app)
	s.healthy(widget)
}
