package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

const rbacGroup = "rbac.authorization.k8s.io"

// role is a Role of the space shop in its namespace app, or a ClusterRole where namespace is empty.
func role(kind, namespace, name, verbs string) store.Entry {
	return live(rbacGroup, strings.ToLower(kind)+"s", rbacGroup+"/v1", kind, namespace, name, map[string]any{
		"rules": []any{map[string]any{
			"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{verbs},
		}},
	})
}

// refusal is why the site does not apply an object, empty where it says nothing.
func (s *site) refusal(e store.Entry) string {
	if r := s.report(e.Key); r != nil && r.Error != nil {
		return r.Error.Message
	}
	return ""
}

func TestRightsAreWrittenAsTheSpaceWhereTheSiteHasOpenedIt(t *testing.T) {
	inBubble(t, rightsAreWrittenAsTheSpaceWhereTheSiteHasOpenedIt)
}

func rightsAreWrittenAsTheSpaceWhereTheSiteHasOpenedIt(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Controllers: []string{"shop"}})
	s.agent.applier.Gate.Impersonate = true
	ns := spaceNamespace("shop", "u1", "app")
	op, all, cluster := role("Role", "app", "op", "list"), role("Role", "app", "all", "*"), role("ClusterRole",
		"", "op", "list")
	s.desire(ns, op, all, cluster)
	eventually(t, "the Role is there, and the others are refused", func() bool {
		return s.exists(op) && s.refusal(all) != "" && s.refusal(cluster) != ""
	})
	by := writers(s.api)
	if by["op"] != "system:serviceaccount:skerry-spaces:shop" || !s.exists(op) {
		t.Errorf("written by %v", by)
	}
	if s.exists(all) || s.exists(cluster) {
		t.Error("more was applied than the site has opened")
	}
	if by["all"] != "" || s.report(all.Key).Error.Reason != "RightsNotAllowed" {
		t.Errorf("refused as %s", dump(s.report(all.Key)))
	}
	if s.api.Object(rbacGroup, "rolebindings", "app", "skerry-space-controllers") == nil ||
		s.api.Object(rbacGroup, "clusterroles", "", "skerry-space-controllers") == nil {
		t.Error("the account cannot give anything away")
	}
}

func TestRightsAreNeverWrittenAsTheAgent(t *testing.T) { inBubble(t, rightsAreNeverWrittenAsTheAgent) }

func rightsAreNeverWrittenAsTheAgent(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Controllers: []string{"*"}, ClusterControllers: []string{"*"}, Kinds: []string{"*"}})
	s.agent.applier.Gate.Impersonate = false
	ns, op, cluster := spaceNamespace("shop", "u1", "app"), role("Role", "app", "op",
		"list"), role("ClusterRole", "", "op", "list")
	s.desire(ns, op, cluster)
	eventually(t, "they are refused", func() bool { return s.refusal(op) != "" && s.refusal(cluster) != "" })
	if s.exists(op) || s.exists(cluster) {
		t.Error("rights were written with those of the agent")
	}
	if why := s.refusal(op); !strings.Contains(why, "--impersonate=false") {
		t.Error(why)
	}
}

func TestEveryKindDoesNotOpenRights(t *testing.T) { inBubble(t, everyKindDoesNotOpenRights) }

func everyKindDoesNotOpenRights(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Kinds: []string{"*"}})
	s.agent.applier.Gate.Impersonate = true
	ns, op, cluster := spaceNamespace("shop", "u1", "app"), role("Role", "app", "op",
		"list"), role("ClusterRole", "", "op", "list")
	s.desire(ns, op, cluster)
	eventually(t, "they are refused", func() bool { return s.refusal(op) != "" && s.refusal(cluster) != "" })
	if s.exists(op) || s.exists(cluster) {
		t.Error("allow.kinds opened rights")
	}
}

// A binding of a space whose namespaces have a prefix here names accounts in the words of the space.
// Those of somebody else's namespace are no more its own for having the prefix.
func TestMappedRightsNameTheSpacesAccounts(t *testing.T) {
	inBubble(t, mappedRightsNameTheSpacesAccounts)
}

func mappedRightsNameTheSpacesAccounts(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Controllers: []string{"*"}})
	s.agent.applier.Gate.Impersonate = true
	binding := func(name, of string) store.Entry {
		return bank(live(rbacGroup, "rolebindings", rbacGroup+"/v1", "RoleBinding", "app", name, map[string]any{
			"roleRef":  map[string]any{"apiGroup": rbacGroup, "kind": "Role", "name": "op"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "op", "namespace": of}},
		}))
	}
	own, other := binding("own", "app"), binding("other", "x")
	s.desire(spaceNamespace("shop", "u1", "bank-x"), bank(spaceNamespace("bank", "u2", "app")),
		bank(spaceNamespace("bank", "u2", "bank-x")), own, other)
	s.applied(own)
	eventually(t, "the other is refused", func() bool {
		return strings.Contains(s.refusal(other),
			"not in a namespace that was made")
	})
	if s.there(other) != nil {
		t.Error("an account of another space has got rights")
	}
}
