package server_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Charts put Roles and Leases into namespaces that every cluster has. A space has them once something is
// in them.
func TestNamespacesThatEveryClusterHas(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	ctx, cancel := c.counting(t)
	defer func() { cancel(); c.stop() }()
	c.createSpace("team", "Delete")
	api := clients(t, c.admin("team"))
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "leases"}}
	for _, name := range []string{"kube-node-lease", "kube-public"} {
		_, err := api.RbacV1().Roles(name).Create(ctx, role, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		must(t, err)
		if _, err := api.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a dry run has made %s: %v", name, err)
		}
		_, err = api.RbacV1().Roles(name).Create(ctx, role, metav1.CreateOptions{})
		must(t, err)
		ns, err := api.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		if ns.Labels["kubernetes.io/metadata.name"] != name {
			t.Errorf("%s has the labels %v", name, ns.Labels)
		}
		must(t, api.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}))
	}
	if _, err := api.RbacV1().Roles("kube-other").Create(ctx, role, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a namespace that no cluster has is made: %v", err)
	}
}
