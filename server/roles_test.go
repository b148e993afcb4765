package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// roles: the well-known ClusterRoles are seen, extended and given away, and nobody gives away more
// than he has.
func roles(t *testing.T, c *center, space string) {
	ctx := t.Context()
	admin := clients(t, c.admin(space)).RbacV1()
	list, err := admin.ClusterRoles().List(ctx, metav1.ListOptions{})
	must(t, err)
	names := []string{}
	for _, r := range list.Items {
		names = append(names, r.Name)
	}
	if !slices.Contains(names, "edit") || !slices.Contains(names, "system:discovery") || !slices.IsSorted(names) {
		t.Errorf("the listed ClusterRoles are %v", names)
	}
	some, err := admin.ClusterRoles().List(
		ctx,
		metav1.ListOptions{LabelSelector: "rbac.authorization.k8s.io/aggregate-to-edit=true"},
	)
	must(t, err)
	if n := len(some.Items); n == 0 || n >= len(list.Items) {
		t.Errorf("%d of %d ClusterRoles have a label", n, len(list.Items))
	}
	bindings, err := admin.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	must(t, err)
	if !slices.ContainsFunc(
		bindings.Items,
		func(b rbacv1.ClusterRoleBinding) bool { return b.Name == "cluster-admin" },
	) {
		t.Error("the binding cluster-admin is not listed")
	}
	keys, err := c.api.Keys(ctx, space)
	must(t, err)
	for _, k := range keys {
		if k.Group == "rbac.authorization.k8s.io" {
			t.Errorf("%v is stored", k)
		}
	}
	edit, err := admin.ClusterRoles().Get(ctx, "edit", metav1.GetOptions{})
	must(t, err)
	if edit.UID == "" || edit.ResourceVersion == "" || edit.CreationTimestamp.IsZero() || edit.AggregationRule == nil {
		t.Errorf("edit is %+v", edit.ObjectMeta)
	}
	w, err := admin.ClusterRoles().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=view"})
	must(t, err)
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*rbacv1.ClusterRole).Name != "view" {
		t.Errorf("a watch begins with %s %v", e.Type, e.Object)
	}

	// What an operator brings for its custom resources takes effect in edit, and shows in a watch.
	cert := clients(t, c.as(space, "ed")).RbacV1()
	_, err = admin.RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "ed"},
		RoleRef: rbacv1.RoleRef{
			Kind: "ClusterRole",
			Name: "admin",
		}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "ed"}}}, metav1.CreateOptions{})
	must(t, err)
	custom := dyn(t, c.as(space, "ed"))
	may := func() bool {
		_, err := custom.Resource(
			crdsGVR.GroupVersion().WithResource("things"),
		).Namespace(
			"default",
		).List(
			ctx,
			metav1.ListOptions{},
		)
		return !apierrors.IsForbidden(err)
	}
	if may() {
		t.Error("a right that nobody gave")
	}
	_, err = admin.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "operator-view",
			Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"},
		},
		Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"apiextensions.k8s.io"},
				Resources: []string{"things"},
				Verbs:     []string{"get", "list", "watch"},
			},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	within(t, time.Minute, "an added right takes effect", may)
	if e := <-w.ResultChan(); e.Object.(*rbacv1.ClusterRole).ResourceVersion == "1" {
		t.Error("the watch does not show the sum that has grown")
	}
	sumOfRoles(t, admin.ClusterRoles())
	must(t, admin.ClusterRoles().Delete(ctx, "operator-view", metav1.DeleteOptions{}))
	within(t, time.Minute, "a right that is taken away has no effect", func() bool { return !may() })

	// Nobody gives away more than he has, and everybody what he has.
	bind := func(role string) error {
		_, err := cert.RoleBindings(
			"default",
		).Create(
			ctx,
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "to-" + role},
				RoleRef: rbacv1.RoleRef{
					Kind: "ClusterRole",
					Name: role,
				}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "friend"}}},
			metav1.CreateOptions{},
		)
		return err
	}
	// All sums, not only the one that was looked at, have to be without that right again.
	within(t, time.Minute, "a role that he has is given away", func() bool { return bind("view") == nil })
	if err := bind("cluster-admin"); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "attempting to grant RBAC permissions not currently held") {
		t.Errorf("more than he has: %v", err)
	}
	within(t, 60*time.Second, "what is given away counts", func() bool {
		_, err := clients(t, c.as(space, "friend")).CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err == nil
	})
	if _, err := cert.ClusterRoles().Create(
		ctx,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
		metav1.CreateOptions{},
	); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("a ClusterRole by the admin of a namespace: %v", err)
	}

	// A well-known object that is changed is the space's own from then on, and comes back when that
	// is deleted.
	_, err = admin.ClusterRoles().Create(
		ctx,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:discovery"}},
		metav1.CreateOptions{},
	)
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second system:discovery: %v", err)
	}
	_, err = admin.ClusterRoles().Patch(
		ctx,
		"system:discovery",
		types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"mine":"yes"}}}`),
		metav1.PatchOptions{},
	)
	must(t, err)
	got, err := admin.ClusterRoles().Get(ctx, "system:discovery", metav1.GetOptions{})
	must(t, err)
	if got.Labels["mine"] != "yes" || len(got.Rules) == 0 {
		t.Errorf("after a patch it is %+v", got)
	}
	must(t, admin.ClusterRoles().Delete(ctx, "system:discovery", metav1.DeleteOptions{}))
	got, err = admin.ClusterRoles().Get(ctx, "system:discovery", metav1.GetOptions{})
	must(t, err)
	if got.Labels["mine"] != "" || len(got.Rules) == 0 {
		t.Errorf("after its deletion it is %+v", got)
	}
	if err := admin.ClusterRoles().Delete(ctx, "system:discovery", metav1.DeleteOptions{}); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("deleted again: %v", err)
	}
	_, err = clients(
		t,
		c.admin(space),
	).CoreV1().ConfigMaps(
		"default",
	).Create(
		ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		metav1.CreateOptions{},
	)
	check(t, err)
}
