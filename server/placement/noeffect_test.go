package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

func TestNoEffect(t *testing.T) {
	const rbac = "rbac.authorization.k8s.io"
	for _, c := range []struct {
		key    store.Key
		object map[string]any
		reason string
		says   string
	}{
		{store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "kube-public", Name: "x"},
			nil, NeverPlaced, "kube-public"},
		{store.Key{Space: "shop", Group: "helm.cattle.io", Resource: "helmcharts", Namespace: "kube-node-lease",
			Name: "x"}, nil, NeverPlaced, "another name"},
		{store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "kube-system", Name: "x"},
			nil, "", ""},
		{store.Key{Space: "shop", Resource: "namespaces", Name: "kube-flannel"}, nil, "", ""},
		{store.Key{Space: "shop", Resource: "namespaces", Name: "kube-system"}, nil, "", ""},
		{store.Key{Space: "shop", Resource: "configmaps", Namespace: "kube-system", Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system",
			Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "x"}, nil, "", ""},
		{store.Key{Space: "root", Group: "apps", Resource: "deployments", Namespace: "app", Name: "x"}, nil,
			NeverPlaced, "skerry space create"},
		{store.Key{Space: "root", Resource: "configmaps", Namespace: "kube-system", Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Group: rbac, Resource: "roles", Namespace: "app", Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Resource: "secrets", Namespace: "app", Name: "x"},
			map[string]any{"type": "kubernetes.io/service-account-token"}, OnlyInSpace, "token"},
		{store.Key{Space: "shop", Resource: "secrets", Namespace: "app", Name: "x"},
			map[string]any{"type": "Opaque"}, "", ""},
		{store.Key{Space: "shop", Resource: "resourcequotas", Namespace: "app", Name: "x"},
			quotaOf("limits.cpu"), OnlyInSpace, "skerry.dev/inert"},
		{store.Key{Space: "shop", Resource: "resourcequotas", Namespace: "app", Name: "x"}, quotaOf("pods"), OnlyInSpace,
			"born at sites"},
		{store.Key{Space: "shop", Resource: "resourcequotas", Namespace: "app", Name: "x"},
			quotaOf("count/secrets", "requests.storage", "services"), "", ""},
		{store.Key{Space: "shop", Resource: "pods", Namespace: "kube-system", Name: "x"},
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/reported-from": "a"}}}, "", ""},
	} {
		reason, message := NoEffect(c.key, c.object)
		if reason != c.reason || !strings.Contains(message, c.says) || (message == "") != (c.reason == "") {
			t.Errorf("%s: %q %q", c.key, reason, message)
		}
	}
}

func quotaOf(names ...string) map[string]any {
	hard := map[string]any{}
	for _, name := range names {
		hard[name] = "1"
	}
	return map[string]any{"spec": map[string]any{"hard": hard}}
}

func TestOpens(t *testing.T) {
	for _, c := range []struct {
		controllers, cluster []string
		space, namespace     string
		want                 bool
	}{
		{[]string{"shop"}, nil, "shop", "app", true},
		{[]string{"shop"}, nil, "shop", "", false},
		{nil, []string{"shop"}, "shop", "", true},
		{nil, []string{"shop"}, "shop", "app", false},
		{[]string{"shop"}, nil, "shop-b", "app", false},
		{[]string{"shop-*"}, nil, "shop-b", "app", true},
		{[]string{"*"}, nil, "bank", "app", true},
		{[]string{"["}, nil, "[", "app", false},
	} {
		if got := Opens(c.controllers, c.cluster, c.space, c.namespace); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestInertObjectsSayWhereTheyAct(t *testing.T) {
	labels := map[string]any{"metadata": map[string]any{"labels": map[string]any{v1alpha1.LabelInert: "true"}}}
	for _, c := range []struct{ group, resource, want string }{
		{"", "resourcequotas", "admin allows resourcequotas"},
		{"admissionregistration.k8s.io", "validatingadmissionpolicies", "allows validatingadmissionpolicies.admission"},
		{"admissionregistration.k8s.io", "validatingwebhookconfigurations", "allow.webhooks"},
		{"rbac.authorization.k8s.io", "clusterroles", "gives no rights in the space"},
		{"", "limitranges", "does not limit"},
	} {
		k := store.Key{Space: "shop", Group: c.group, Resource: c.resource, Namespace: "app", Name: "x"}
		reason, message := NoEffect(k, labels)
		if reason != OnlyAtSites || !strings.Contains(message, c.want) {
			t.Errorf("%s: %s %s", c.resource, reason, message)
		}
	}
	for _, of := range []struct {
		kinds, denied []string
		want          bool
	}{
		{nil, nil, false}, {[]string{"resourcequotas"}, nil, true}, {[]string{"*"}, []string{"resource*"}, false},
		{[]string{"*.admissionregistration.k8s.io"}, nil, false},
	} {
		if got := AllowsKind(of.kinds, of.denied, "", "resourcequotas"); got != of.want {
			t.Errorf("%v without %v: %v", of.kinds, of.denied, got)
		}
	}
}
