package agent

import (
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// sealedSite is a site whose own word counts.
func sealedSite(t *testing.T, allow tunnel.Allow) *site {
	s := &site{t: t, api: targettest.NewInMemory(t), center: store.NewIncarnation(), share: 100, allow: &allow}
	s.access = target.Cluster(s.api.Config())
	s.start(t.TempDir())
	t.Cleanup(func() { s.stop() })
	return s
}

// spaceNamespace is a Namespace of a space with a UID.
func spaceNamespace(from, uid, name string) store.Entry {
	e := live("", "namespaces", "v1", "Namespace", "", name, map[string]any{"metadata": map[string]any{"name": name,
		"labels": map[string]any{"team": "a", "pod-security.kubernetes.io/enforce": "privileged"},
		"annotations": map[string]any{
			target.AnnotationOrigin: "shop/", target.AnnotationOriginUID: "source-" + from + "-" + name,
			target.AnnotationSpaceUID: uid,
		}}})
	return of(from, e)
}

func (s *site) metadataOf(e store.Entry) (labels, annotations map[string]any) {
	o := s.api.Object(e.Key.Group, e.Key.Resource, e.Key.Namespace, e.Key.Name)
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ = metadata["labels"].(map[string]any)
	annotations, _ = metadata["annotations"].(map[string]any)
	return labels, annotations
}

func TestNamespaceThatWasThereIsTakenAndGivenBack(t *testing.T) {
	inBubble(t, namespaceThatWasThereIsTakenAndGivenBack)
}

func namespaceThatWasThereIsTakenAndGivenBack(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	ns, c := spaceNamespace("shop", "u1", "default"), configMap("default", "c", "1")
	s.desire(ns, c)
	s.settled()
	labels, annotations := s.metadataOf(ns)
	if labels["pod-security.kubernetes.io/enforce"] != "baseline" || labels["team"] != nil ||
		annotations[target.AnnotationSpaceUID] != "u1" ||
		annotations[target.AnnotationExisted] == nil ||
		!s.exists(c) {
		t.Errorf("taken with %v %v", labels, annotations)
	}
	s.desire(gone(ns), gone(c))
	s.settled()
	labels, annotations = s.metadataOf(ns)
	if s.exists(c) || !s.exists(ns) || len(labels) != 0 || len(annotations) != 0 {
		t.Errorf("given back with %v %v", labels, annotations)
	}
}

func TestNamespaceInUseIsRefusedUntilTheSiteOpensIt(t *testing.T) {
	inBubble(t, namespaceInUseIsRefusedUntilTheSiteOpensIt)
}

func namespaceInUseIsRefusedUntilTheSiteOpensIt(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.api.Put("v1", "Namespace", "", "app", nil)
	s.api.Put("v1", "Secret", "app", "theirs", map[string]any{"data": map[string]any{"k": "dg=="}})
	ns, c := spaceNamespace("shop", "u1", "app"), configMap("app", "c", "1")
	s.desire(ns, c)
	for _, e := range []store.Entry{ns, c} {
		if m := s.reported(e, "NamespaceNotAllowed"); !strings.Contains(m, "namespaces: [app]") ||
			strings.Contains(m, "theirs") {
			t.Errorf("message %q", m)
		}
	}
	if n := len(s.api.Writes()); n != 0 {
		t.Errorf("%d writes to a namespace of the site", n)
	}
	s.allow = &tunnel.Allow{Namespaces: []string{"shop/app"}}
	s.restart(false)
	eventually(t, "it is applied in a namespace that the site has opened", func() bool { return s.exists(c) })
}

func TestNamespaceBelongsToOneSpace(t *testing.T) { inBubble(t, namespaceBelongsToOneSpace) }

func namespaceBelongsToOneSpace(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	mine, theirs := spaceNamespace("shop", "u1", "app"), spaceNamespace("bank", "u2", "app")
	c, d := configMap("app", "c", "1"), of("bank", configMap("app", "d", "1"))
	s.desire(mine, c)
	s.settled()
	s.desire(theirs, d)
	for _, e := range []store.Entry{theirs, d} {
		if m := s.reported(e, "NamespaceTaken"); !strings.Contains(m, `belongs to space "shop"`) {
			t.Errorf("message %q", m)
		}
	}
	if s.exists(d) {
		t.Error("a second space is in the namespace")
	}
	s.desire(gone(mine), gone(c))
	eventually(t, "the second space has it when the first has left", func() bool {
		_, annotations := s.metadataOf(theirs)
		return s.exists(d) && annotations[target.AnnotationSpaceUID] == "u2"
	})
}

func TestALaterSpaceOfTheSameNameInheritsNothing(t *testing.T) {
	inBubble(t, aLaterSpaceOfTheSameNameInheritsNothing)
}

func aLaterSpaceOfTheSameNameInheritsNothing(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.api.Put("v1", "Namespace", "", "app", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		target.AnnotationOrigin: "shop/", target.AnnotationOriginUID: "source-shop-app", target.AnnotationSpaceUID: "u0"}}})
	s.desire(spaceNamespace("shop", "u1", "app"))
	s.reported(spaceNamespace("shop", "u1", "app"), "NamespaceTaken")
}

func TestKindsOfTheSiteAreTheSites(t *testing.T) { inBubble(t, kindsOfTheSiteAreTheSites) }

func kindsOfTheSiteAreTheSites(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.api.Put(
		"apiextensions.k8s.io/v1",
		"CustomResourceDefinition",
		"",
		"helmcharts.helm.cattle.io",
		map[string]any{"spec": map[string]any{
			"group": "helm.cattle.io", "scope": "Namespaced",
			"names":    map[string]any{"plural": "helmcharts", "kind": "HelmChart"},
			"versions": []any{map[string]any{"name": "v1"}}}},
	)
	ns := spaceNamespace("shop", "u1", "app")
	chart := live("helm.cattle.io", "helmcharts", "helm.cattle.io/v1", "HelmChart", "app", "x", nil)
	role := live(
		"rbac.authorization.k8s.io",
		"clusterroles",
		"rbac.authorization.k8s.io/v1",
		"ClusterRole",
		"",
		"all",
		nil,
	)
	definition := crd("widgets", "Widget")
	widget := live("example.com", "widgets", "example.com/v1", "Widget", "app", "w", nil)
	s.desire(ns, chart, role, definition, widget)
	eventually(t, "what the space brings is applied", func() bool { return s.exists(widget) })
	if m := s.reported(chart, "KindNotAllowed"); !strings.Contains(m, "kinds: [helmcharts.helm.cattle.io]") {
		t.Errorf("message %q", m)
	}
	s.reported(role, "RightsNotAllowed")
	for _, e := range []store.Entry{chart, role} {
		if s.exists(e) {
			t.Errorf("%s was made", e.Key)
		}
	}
}

func TestServiceAccountsOfTheSiteAreNotUsed(t *testing.T) {
	inBubble(t, serviceAccountsOfTheSiteAreNotUsed)
}

func serviceAccountsOfTheSiteAreNotUsed(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Namespaces: []string{"app"}})
	s.api.Put("v1", "Namespace", "", "app", nil)
	s.api.Put("v1", "ServiceAccount", "app", "ops-admin", nil)
	pods := func(name, account string) store.Entry {
		return live(
			"apps",
			"deployments",
			"apps/v1",
			"Deployment",
			"app",
			name,
			map[string]any{"spec": map[string]any{"template": map[string]any{
				"spec": map[string]any{"serviceAccountName": account, "containers": []any{}}}}},
		)
	}
	account := live("", "serviceaccounts", "v1", "ServiceAccount", "app", "mine", nil)
	s.desire(spaceNamespace("shop", "u1", "app"), pods("bad", "ops-admin"), pods("good", "mine"), account)
	eventually(t, "Pods with an account of the space", func() bool { return s.exists(pods("good", "")) })
	if m := s.reported(pods("bad", ""), "ServiceAccountNotAllowed"); !strings.Contains(m, "app/ops-admin") {
		t.Errorf("message %q", m)
	}
}

func TestNothingIsTakenOverUnlessTheSiteSaysSo(t *testing.T) {
	inBubble(t, nothingIsTakenOverUnlessTheSiteSaysSo)
}

func nothingIsTakenOverUnlessTheSiteSaysSo(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	s.desire(spaceNamespace("shop", "u1", "app"))
	s.settled()
	s.api.PutAs("kubectl", "", "v1", "Secret", "app", "c", map[string]any{"data": map[string]any{"pin": "MTIz"}})
	s.api.PutAs("kubectl", "", "v1", "ConfigMap", "app", "c", map[string]any{"data": map[string]any{"value": "theirs"}})
	secret := with(
		live("", "secrets", "v1", "Secret", "app", "c", map[string]any{"data": map[string]any{"pin": "MTIz"}}),
		`{"whenAlreadyExists":"TakeOverIfNoDiff"}`,
	)
	c := with(configMap("app", "c", "ours"), `{"whenAlreadyExists":"TakeOver"}`)
	s.desire(secret, c)
	s.reported(secret, "TakeOverNotAllowed")
	s.reported(c, "TakeOverNotAllowed")
	s.allow = &tunnel.Allow{TakeOver: true}
	s.restart(false)
	eventually(t, "the site allows it", func() bool {
		return s.api.Object("", "configmaps", "app", "c")["data"].(map[string]any)["value"] == "ours"
	})
	if m := s.reported(secret, "TakeOverNotAllowed"); !strings.Contains(m, "never") {
		t.Errorf("message %q", m)
	}
}

func TestOneDefinitionInTwoSpaces(t *testing.T) { inBubble(t, oneDefinitionInTwoSpaces) }

func oneDefinitionInTwoSpaces(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	mine := crd("widgets", "Widget")
	equal, other := of("bank", mine), of("bank", crd("widgets", "Gadget"))
	widget := of("bank", live("example.com", "widgets", "example.com/v1", "Widget", "till", "w", nil))
	s.desire(mine)
	s.settled()
	s.desire(other)
	if m := s.reported(other, "DefinitionNotAllowed"); !strings.Contains(m, `"shop"`) ||
		!strings.Contains(m, `"bank"`) {
		t.Errorf("message %q", m)
	}
	s.desire(equal, spaceNamespace("bank", "u2", "till"), widget)
	s.settled()
	if r := s.report(equal.Key); r == nil || r.Error != nil || !s.exists(widget) {
		t.Errorf("an equal definition is not shared: %s", dump(r))
	}
	s.desire(gone(mine))
	s.settled()
	eventually(t, "the definition goes on as the other space's", func() bool {
		_, annotations := s.metadataOf(equal)
		return annotations[target.AnnotationOrigin] == "bank/" && s.exists(widget)
	})
	s.desire(gone(equal), gone(widget), gone(spaceNamespace("bank", "u2", "till")))
	s.settled()
	if s.exists(equal) {
		t.Error("the definition stays after the last space has left")
	}
}

func TestParentNarrowsWhatTheSiteAllows(t *testing.T) {
	inBubble(t, parentNarrowsWhatTheSiteAllows)
}

func parentNarrowsWhatTheSiteAllows(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Kinds: []string{"*"}})
	ns, c := spaceNamespace("shop", "u1", "app"), configMap("app", "c", "1")
	s.desire(ns, c)
	s.settled()
	s.narrowed(&tunnel.Narrow{DenyKinds: []string{"configmaps"}, Kinds: []string{"*"}})
	s.reported(c, "KindNotAllowed")
	if !s.exists(c) {
		t.Error("what runs was removed by a narrower policy")
	}
	s.restart(false)
	s.reported(c, "KindNotAllowed")
	if said, _ := s.conditions.All(); said.Policy == nil || !slices.Contains(said.Policy.DenyKinds, "configmaps") {
		t.Errorf("the parent is told %+v", said.Policy)
	}
	s.narrowed(nil)
	eventually(
		t,
		"it is given back",
		func() bool { r := s.report(c.Key); return r != nil && r.Error == nil && r.Applied == c.Hash.String() },
	)
}

func TestWorkloadSaysWhichClassItLacks(t *testing.T) { inBubble(t, workloadSaysWhichClassItLacks) }

func workloadSaysWhichClassItLacks(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{})
	class := live("scheduling.k8s.io", "priorityclasses", "scheduling.k8s.io/v1", "PriorityClass", "", "important", nil)
	d := live(
		"apps",
		"deployments",
		"apps/v1",
		"Deployment",
		"app",
		"web",
		map[string]any{"spec": map[string]any{"template": map[string]any{
			"spec": map[string]any{"priorityClassName": "important", "containers": []any{}}}}},
	)
	s.desire(spaceNamespace("shop", "u1", "app"), class, d)
	if m := s.reported(d, "KindNotAllowed"); !strings.Contains(m, `priorityclasses "important"`) ||
		!strings.Contains(m, "kinds: [priorityclasses.scheduling.k8s.io]") {
		t.Errorf("message %q", m)
	}
}
