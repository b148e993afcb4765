package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

func TestWebhooksOfBorn(t *testing.T) {
	rule := func(group, resource, operation string) map[string]any {
		return map[string]any{"apiGroups": []any{group}, "resources": []any{resource}, "operations": []any{operation}}
	}
	hook := func(name string, rules ...any) any { return map[string]any{"name": name, "rules": rules} }
	for _, c := range []struct {
		what     string
		resource string
		webhooks []any
		says     []string
	}{
		{"of Pods", "mutatingwebhookconfigurations",
			[]any{hook("own", rule("example.com", "boats", "CREATE")), hook("pods", rule("", "pods", "CREATE"))},
			[]string{"make their pods at sites", "which ask pods only where"}},
		{"of everything", "validatingwebhookconfigurations", []any{hook("all", rule("*", "*/*", "*"))},
			[]string{"jobs, persistentvolumeclaims, pods, replicasets", "which ask all only"}},
		{"of several kinds", "validatingwebhookconfigurations",
			[]any{hook("a", rule("apps", "replicasets", "CREATE")),
				hook("b", rule("", "pods", "CREATE"), rule("", "pods", "CREATE"))},
			[]string{"their pods, replicasets at", "which ask a, b only"}},
		{"of kinds that people make", "mutatingwebhookconfigurations",
			[]any{hook("own", rule("apps", "deployments", "*"))}, nil},
		{"of what a group has not", "mutatingwebhookconfigurations",
			[]any{hook("own", rule("example.com", "pods", "CREATE"))}, nil},
		{"of the end of Pods", "mutatingwebhookconfigurations", []any{hook("end", rule("", "pods", "DELETE"))}, nil},
		{"of subresources", "validatingwebhookconfigurations", []any{hook("exec", rule("", "pods/exec", "CONNECT"))}, nil},
		{"no webhooks", "validatingadmissionpolicies", []any{hook("pods", rule("", "pods", "CREATE"))}, nil},
	} {
		k := store.Key{Space: "shop", Group: "admissionregistration.k8s.io", Resource: c.resource, Name: "x"}
		reason, message := NoEffect(k, map[string]any{"webhooks": c.webhooks})
		if (reason == OnlyInSpace) != (c.says != nil) || (message == "") != (c.says == nil) {
			t.Errorf("%s: %q %q", c.what, reason, message)
		}
		for _, want := range c.says {
			if !strings.Contains(message, want) {
				t.Errorf("%s: %q lacks %q", c.what, message, want)
			}
		}
	}
}

// What a parent sent on its way to sites is no news for the people of a relay's space.
func TestWebhooksOnTheirWay(t *testing.T) {
	k := store.Key{
		Space: "shop", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations", Name: "x",
	}
	o := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/origin": "shop/"}},
		"webhooks": []any{map[string]any{"name": "pods", "rules": []any{map[string]any{
			"apiGroups": []any{""}, "resources": []any{"pods"}, "operations": []any{"CREATE"},
		}}}},
	}
	if reason, message := NoEffect(k, o); reason != "" || message != "" {
		t.Errorf("%q %q", reason, message)
	}
}

func TestListed(t *testing.T) {
	if got := listed([]string{"a", "b", "c", "d", "e", "f", "g"}); got != "a, b, c, d, e and 2 more" {
		t.Errorf("%q", got)
	}
}
