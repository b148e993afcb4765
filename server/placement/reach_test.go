package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

func TestReachOf(t *testing.T) {
	type m = map[string]any
	key := store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}
	service := func(reach string, spec m) m {
		notes := m{}
		if reach != "" {
			notes[v1alpha1.AnnotationReach] = reach
		}
		return m{"metadata": m{"annotations": notes}, "spec": spec}
	}
	selects := m{"app": "web"}
	for name, c := range map[string]struct {
		key  store.Key
		obj  m
		want Reach
		says string
	}{
		"without the annotation": {key, service("", m{"selector": selects}), ReachUnsaid, ""},
		"where it is":            {key, service("Target", m{"selector": selects}), ReachTarget, ""},
		"a Namespace":            {store.Key{Space: "shop", Resource: "namespaces", Name: "app"}, service("Space", nil), ReachTarget, ""},
		"a Namespace, wrong": {store.Key{Space: "shop", Resource: "namespaces", Name: "app"}, service("All", nil), ReachTarget,
			`"All" means nothing`},
		"with it":       {key, service("Space", m{"selector": selects, "ports": []any{m{"port": 80}}}), ReachSpace, ""},
		"another value": {key, service("space", m{"selector": selects}), ReachUnsaid, `"space" means nothing; write Space`},
		"headless": {key, service("Space", m{"selector": selects, "clusterIP": "None", "ports": []any{m{"port": 80}}}),
			ReachSpace, ""},
		"headless, no ports": {key, service("Space", m{"selector": selects, "clusterIP": "None"}), ReachTarget, "names no ports"},
		"another name":       {key, service("Space", m{"type": "ExternalName", "selector": selects}), ReachTarget, "ExternalName"},
		"without a selector": {key, service("Space", m{}), ReachTarget, "no selector"},
		"a UDP port beside": {key, service("Space", m{"selector": selects, "ports": []any{m{"port": int64(80)},
			m{"port": int64(53), "protocol": "UDP"}}}), ReachSpace, "ports 53/UDP"},
		"no Service, without it": {store.Key{Space: "shop", Resource: "configmaps", Namespace: "app", Name: "web"},
			service("", m{"selector": selects}), ReachTarget, ""},
	} {
		if got := ReachOf(c.key, c.obj); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		reason, says := NoEffect(c.key, c.obj)
		if (says == "") != (c.says == "") || !strings.Contains(says, c.says) || (reason == NoReach) != (c.says != "") {
			t.Errorf("%s: %s %q", name, reason, says)
		}
	}
}
