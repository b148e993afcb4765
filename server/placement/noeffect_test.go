package placement

import (
	"strings"
	"testing"

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
		{store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "kube-system", Name: "x"}, nil, NeverPlaced, "kube-system"},
		{store.Key{Space: "shop", Group: "helm.cattle.io", Resource: "helmcharts", Namespace: "kube-system", Name: "x"}, nil, NeverPlaced, "another name"},
		{store.Key{Space: "shop", Resource: "namespaces", Name: "kube-flannel"}, nil, NeverPlaced, "kube-flannel"},
		{store.Key{Space: "shop", Resource: "namespaces", Name: "kube-system"}, nil, "", ""},
		{store.Key{Space: "shop", Resource: "configmaps", Namespace: "kube-system", Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system", Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "x"}, nil, "", ""},
		{store.Key{Space: "root", Group: "apps", Resource: "deployments", Namespace: "app", Name: "x"}, nil, NeverPlaced, "skerry space create"},
		{store.Key{Space: "root", Resource: "configmaps", Namespace: "kube-system", Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Group: rbac, Resource: "roles", Namespace: "app", Name: "x"}, nil, "", ""},
		{store.Key{Space: "shop", Resource: "secrets", Namespace: "app", Name: "x"}, map[string]any{"type": "kubernetes.io/service-account-token"}, OnlyInSpace, "token"},
		{store.Key{Space: "shop", Resource: "secrets", Namespace: "app", Name: "x"}, map[string]any{"type": "Opaque"}, "", ""},
		{store.Key{Space: "shop", Resource: "pods", Namespace: "kube-system", Name: "x"},
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/reported-from": "a"}}}, "", ""},
	} {
		reason, message := NoEffect(c.key, c.object)
		if reason != c.reason || !strings.Contains(message, c.says) || (message == "") != (c.reason == "") {
			t.Errorf("%s: %q %q", c.key, reason, message)
		}
	}
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
