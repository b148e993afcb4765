package space

import (
	"testing"

	"skerry.dev/skerry/store"
)

// TestUsersOwn: a space in which nobody has made anything is empty, whatever the center has put there.
func TestUsersOwn(t *testing.T) {
	key := func(group, resource, namespace, name string) store.Key {
		return store.Key{Space: "shop", Group: group, Resource: resource, Namespace: namespace, Name: name}
	}
	const rbac, reader = "rbac.authorization.k8s.io", "extension-apiserver-authentication-reader"
	defaults := []store.Key{
		key("", "namespaces", "", "default"),
		key("", "namespaces", "", "kube-system"),
		key("", "serviceaccounts", "default", "default"),
		key("", "configmaps", "default", "kube-root-ca.crt"),
		key("", "configmaps", "kube-system", "extension-apiserver-authentication"),
		key(rbac, "roles", "kube-system", reader),
	}
	own := []store.Key{
		key("", "configmaps", "default", "extension-apiserver-authentication"),
		key(rbac, "roles", "kube-system", "mine"),
		key(rbac, "rolebindings", "kube-system", reader),
	}
	got := usersOwn(append(defaults, own...))
	if len(got) != len(own) {
		t.Fatalf("%v", got)
	}
	for i, k := range own {
		if got[i] != k {
			t.Errorf("%v instead of %v", got[i], k)
		}
	}
}
