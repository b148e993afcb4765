package site

import (
	"testing"

	"skerry.dev/skerry/store"
)

func TestProtected(t *testing.T) {
	rbac := "rbac.authorization.k8s.io"
	cases := map[store.Key]bool{
		{Resource: "namespaces", Name: "default"}:                                                          true,
		{Resource: "namespaces", Name: "kube-system"}:                                                      true,
		{Resource: "namespaces", Name: "kube-anything"}:                                                    true,
		{Resource: "namespaces", Name: "kubernetes"}:                                                       false,
		{Resource: "namespaces", Name: "shop"}:                                                             false,
		{Resource: "services", Namespace: "default", Name: "kubernetes"}:                                   true,
		{Resource: "services", Namespace: "shop", Name: "kubernetes"}:                                      false,
		{Resource: "serviceaccounts", Namespace: "shop", Name: "default"}:                                  true,
		{Resource: "configmaps", Namespace: "shop", Name: "kube-root-ca.crt"}:                              true,
		{Resource: "configmaps", Namespace: "shop", Name: "default"}:                                       false,
		{Resource: "configmaps", Namespace: "kube-system", Name: "mine"}:                                   false,
		{Group: rbac, Resource: "clusterroles", Name: "cluster-admin"}:                                     true,
		{Group: rbac, Resource: "clusterroles", Name: "view"}:                                              true,
		{Group: rbac, Resource: "clusterroles", Name: "system:node"}:                                       true,
		{Group: rbac, Resource: "clusterrolebindings", Name: "cluster-admin"}:                              true,
		{Group: rbac, Resource: "clusterroles", Name: "mine"}:                                              false,
		{Group: rbac, Resource: "roles", Namespace: "kube-system", Name: "system::x"}:                      true,
		{Group: rbac, Resource: "roles", Namespace: "shop", Name: "cluster-admin"}:                         false,
		{Group: "scheduling.k8s.io", Resource: "priorityclasses", Name: "system-node-critical"}:            true,
		{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas", Name: "exempt"}:                   true,
		{Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations", Name: "my-level"}: false,
	}
	for k, want := range cases {
		if Protected(k) != want {
			t.Errorf("%s: protected is %v", k, !want)
		}
	}
}
