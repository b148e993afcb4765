package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// TestASpaceTakesNoNamespaceThatTheSiteUses: a namespace that looks empty and is not. What an object of
// the cluster owns is the site's, and accounts may have rights by their names as users.
func TestASpaceTakesNoNamespaceThatTheSiteUses(t *testing.T) {
	owned := func(apiVersion, kind string) map[string]any {
		return map[string]any{"metadata": map[string]any{"ownerReferences": []any{
			map[string]any{"apiVersion": apiVersion, "kind": kind, "name": "x", "uid": "x"}}}}
	}
	for name, c := range map[string]struct {
		use     func(*site)
		refused bool
	}{
		"owned by an object of the cluster": {func(s *site) {
			s.api.Put("v1", "Secret", "app", "keys", owned("storage.k8s.io/v1", "StorageClass"))
		}, true},
		"owned by an object of the cluster, of the core group": {func(s *site) {
			s.api.Put("v1", "Pod", "app", "agent", owned("v1", "Node"))
		}, true},
		"rights for an account as a user": {func(s *site) {
			s.api.Put("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "ci", map[string]any{"subjects": []any{
				map[string]any{"kind": "User", "name": "system:serviceaccount:app:default"}}})
		}, true},
		"what is owned inside goes with its owner": {func(s *site) {
			s.api.Put("v1", "ConfigMap", "app", "c", owned("apps/v1", "Deployment"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := sealedSite(t, tunnel.Allow{})
				s.api.Put("v1", "Namespace", "", "app", nil)
				c.use(s)
				ns := spaceNamespace("shop", "u1", "app")
				s.desire(ns)
				if !c.refused {
					s.applied(ns)
					return
				}
				if m := s.reported(ns, "NamespaceNotAllowed"); !strings.Contains(m, "namespaces: [app]") {
					t.Errorf("message %q", m)
				}
			})
		})
	}
}

// TestNobodyTakesTheServiceOfTheAPI: whoever has it gets the tokens of all Pods of the cluster. A site that
// lets objects be taken over means others.
func TestNobodyTakesTheServiceOfTheAPI(t *testing.T) { inBubble(t, nobodyTakesTheServiceOfTheAPI) }

func nobodyTakesTheServiceOfTheAPI(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{TakeOver: true})
	for _, name := range []string{"kubernetes", "theirs"} {
		s.api.Put("v1", "Service", "default", name, nil)
	}
	service := func(name string) store.Entry {
		return with(live("", "services", "v1", "Service", "default", name, map[string]any{
			"spec": map[string]any{"selector": map[string]any{"app": "proxy"}}}), `{"whenAlreadyExists":"TakeOver"}`)
	}
	s.allow = &tunnel.Allow{TakeOver: true, Namespaces: []string{"default"}}
	s.restart(false)
	s.desire(spaceNamespace("shop", "u1", "default"), service("kubernetes"), service("theirs"))
	s.applied(service("theirs"))
	s.reported(service("kubernetes"), "TakeOverNotAllowed")
	if spec, _ := s.api.Object("", "services", "default", "kubernetes")["spec"].(map[string]any); spec["selector"] != nil {
		t.Error("it leads to Pods of the space")
	}
}

// TestANamespaceGetsNothingOfItsSitesAdmin: annotations by which a site's admin says what Pods may do.
func TestANamespaceGetsNothingOfItsSitesAdmin(t *testing.T) {
	inBubble(t, aNamespaceGetsNothingOfItsSitesAdmin)
}

func aNamespaceGetsNothingOfItsSitesAdmin(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	ns := live("", "namespaces", "v1", "Namespace", "", "app", map[string]any{"metadata": map[string]any{"name": "app",
		"annotations": map[string]any{
			target.AnnotationOrigin: "shop/", target.AnnotationOriginUID: "source", target.AnnotationSpaceUID: "u1", "team": "a",
			"openshift.io/sa.scc.uid-range": "0/1", "scheduler.alpha.kubernetes.io/node-selector": "tier=control",
			target.AnnotationExisted: "true",
		}}})
	s.desire(ns)
	s.applied(ns)
	_, notes := s.metadataOf(ns)
	if notes["openshift.io/sa.scc.uid-range"] != nil || notes[target.AnnotationExisted] != nil || notes["scheduler.alpha.kubernetes.io/node-selector"] != nil ||
		notes["team"] != "a" || notes[target.AnnotationSpaceUID] != "u1" {
		t.Errorf("it has %v", notes)
	}
}
