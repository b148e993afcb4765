package authz

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Bootstrap holds Kubernetes' well-known ClusterRoles (admin, edit, view, cluster-admin, system:*)
// and bindings. They are valid in every space and stored in none: storing them would cost each
// space more than everything else it has.
type Bootstrap struct {
	Roles    map[string]*rbacv1.ClusterRole
	Bindings []*rbacv1.ClusterRoleBinding
}

// NewBootstrap returns the well-known roles and bindings. Rights on Placements are part of view and
// edit. Every member of a space may create PlacementReviews and ServiceReviews, as SelfSubjectAccessReviews: the
// answer is given to those only who may get the object.
func NewBootstrap() (*Bootstrap, error) {
	b := &Bootstrap{Roles: map[string]*rbacv1.ClusterRole{}}
	all := bootstrappolicy.ClusterRoles()
	for i := range all {
		b.Roles[all[i].Name] = &all[i]
	}
	// Kinds of our own are part of what the well-known roles allow.
	b.grant("view", "skerry.dev", "placements", readVerbs)
	b.grant("edit", "skerry.dev", "placements", writeVerbs)
	b.grant("view", "skerry.dev", "bindings", readVerbs)
	b.grant("view", "skerry.dev", "customizers", readVerbs)
	b.grant("edit", "skerry.dev", "customizers", writeVerbs)
	b.grant("view", "skerry.dev", "statuscollectors", readVerbs)
	b.grant("edit", "skerry.dev", "statuscollectors", writeVerbs)
	b.grant("view", "skerry.dev", "combinedstatuses", readVerbs)
	b.grant("view", "skerry.dev", "upsyncs", readVerbs)
	b.grant("view", v1alpha1.FleetGroup, v1alpha1.ClusterProfiles, readVerbs)
	b.grant("view", v1alpha1.FleetGroup, v1alpha1.PlacementDecisions, readVerbs)
	b.grant("view", v1alpha1.FleetGroup, v1alpha1.ServiceExports, readVerbs)
	b.grant("edit", v1alpha1.FleetGroup, v1alpha1.ServiceExports, writeVerbs)
	b.grant("view", v1alpha1.FleetGroup, v1alpha1.ServiceImports, readVerbs)
	basic := b.Roles["system:basic-user"]
	basic.Rules = append(basic.Rules, rbacv1.PolicyRule{
		APIGroups: []string{"skerry.dev"}, Resources: []string{"placementreviews", "servicereviews"},
		Verbs: []string{"create"}})
	reader := metricsReader()
	b.Roles[reader.Name] = reader
	sums, err := Aggregate(b.Roles)
	if err != nil {
		return nil, err
	}
	for name, rules := range sums {
		b.Roles[name].Rules = rules
	}
	bindings := bootstrappolicy.ClusterRoleBindings()
	for i := range bindings {
		b.Bindings = append(b.Bindings, &bindings[i])
	}
	return b, nil
}

var (
	readVerbs  = []string{"get", "list", "watch"}
	writeVerbs = []string{"create", "delete", "deletecollection", "patch", "update"}
)

// metricsReader is what a cluster's metrics-server brings: who may view may see what Pods use. It has a name of
// its own, so that the manifests of metrics-server can create theirs, and delete it.
func metricsReader() *rbacv1.ClusterRole {
	const aggregate = "rbac.authorization.k8s.io/aggregate-to-"
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "skerry:metrics-reader",
			Labels: map[string]string{aggregate + "view": "true", aggregate + "edit": "true", aggregate + "admin": "true"},
		},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"metrics.k8s.io"}, Resources: []string{"pods", "nodes"}, Verbs: readVerbs},
		},
	}
}

// grant adds rights on a resource to a role that the well-known roles aggregate.
func (b *Bootstrap) grant(role, group, resource string, verbs []string) {
	name := "skerry:" + resource + "-aggregate-to-" + role
	b.Roles[name] = &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-" + role: "true"},
		},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs},
		},
	}
}

// role returns a well-known role.
func (b *Bootstrap) role(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	if r, ok := b.Roles[name]; ok {
		return r, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("clusterroles"), name)
}
