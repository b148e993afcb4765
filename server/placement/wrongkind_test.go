package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// Whatever of Skerry a user writes on a kind on which it means nothing, a Warning says so, and where it belongs.
func TestWordsOnWrongKindsAreToldOf(t *testing.T) {
	type m = map[string]any
	on := func(group, resource string) store.Key {
		return store.Key{Space: "shop", Group: group, Resource: resource, Namespace: "web", Name: "hello"}
	}
	kinds := map[string]store.Key{
		"Namespace":      {Space: "shop", Resource: "namespaces", Name: "web"},
		"Service":        on("", "services"),
		"ConfigMap":      on("", "configmaps"),
		"ServiceAccount": on("", "serviceaccounts"),
		"Pod":            on("", "pods"),
		"Deployment":     on("apps", "deployments"),
		"StatefulSet":    on("apps", "statefulsets"),
		"Role":           on("rbac.authorization.k8s.io", "roles"),
		"ResourceQuota":  on("", "resourcequotas"),
		"definition":     {Space: "shop", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "x.y"},
		"SyncTarget":     {Space: v1alpha1.RootSpace, Group: "skerry.dev", Resource: "synctargets", Name: "paris"},
	}
	for _, c := range []struct {
		name   string
		labels m
		notes  m
		// on are the kinds on which it means something, says is where the Warning of all others sends people.
		on, says string
	}{
		{"inert", m{v1alpha1.LabelInert: "true"}, nil, "Role ResourceQuota", "leave it out"},
		{"inert, another value", m{v1alpha1.LabelInert: "yes"}, nil, "", "means nothing"},
		{"not inert", m{v1alpha1.LabelInert: "false"}, nil, "*", ""},
		{"inert as an annotation", nil, m{v1alpha1.LabelInert: "true"}, "", "kubectl label"},
		{"reach", nil, m{v1alpha1.AnnotationReach: "Target"}, "Service Namespace", "on the Service, or its Namespace"},
		{"pod-api", nil, m{v1alpha1.AnnotationPodAPI: "None"}, "Pod ServiceAccount Namespace", "on the template of the Pods"},
		{"replicas", nil, m{v1alpha1.AnnotationReplicas: "Duplicated"}, "StatefulSet", "on the StatefulSet"},
		{"placement", nil, m{v1alpha1.AnnotationPlacement: "None"}, "definition", "on the CustomResourceDefinition"},
		{"shared", nil, m{v1alpha1.AnnotationShared: "true"}, "definition", "on the CustomResourceDefinition"},
		{"conditions", nil, m{v1alpha1.AnnotationConditions: "Ready=True"}, "definition", "on the CustomResourceDefinition"},
		{"hold-releases", nil, m{v1alpha1.AnnotationHoldReleases: "no"}, "SyncTarget", "on the SyncTarget"},
	} {
		for kind, k := range kinds {
			content := m{"metadata": m{"labels": c.labels, "annotations": c.notes},
				"spec": m{"selector": m{"app": "x"}, "ports": []any{m{"port": int64(80)}}}}
			reason, says := NoEffect(k, content)
			right := c.on == "*" || strings.Contains(" "+c.on+" ", " "+kind+" ")
			if right == (reason == Misplaced) || !right && !strings.Contains(says, c.says) {
				t.Errorf("%s on a %s: %s %q", c.name, kind, reason, says)
			}
		}
	}
	widget := on("example.com", "widgets")
	if reason, says := NoEffect(widget, m{"metadata": m{"annotations": m{v1alpha1.AnnotationPodAPI: "None"}}}); reason != "" {
		t.Errorf("a custom resource, whose operator may hand it on: %s", says)
	}
	both := m{"metadata": m{"labels": m{v1alpha1.LabelInert: "true"}, "annotations": m{v1alpha1.LabelTarget: "paris"}}}
	if _, says := NoEffect(kinds["Deployment"], both); !strings.Contains(says, "kubectl label; the label skerry.dev/inert") {
		t.Errorf("of two: %q", says)
	}
}
