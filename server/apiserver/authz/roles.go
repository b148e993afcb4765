package authz

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	rbacapi "k8s.io/kubernetes/pkg/apis/rbac"
	rbacconv "k8s.io/kubernetes/pkg/apis/rbac/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/storage"
)

// Roles gives the RBAC authorizer of Kubernetes the roles and bindings of the space that a request
// is in, from the shared caches.
type Roles struct {
	Bootstrap       *Bootstrap
	roles           rest.Getter
	clusterRoles    rest.Getter
	bindings        rest.Lister
	clusterBindings rest.Lister
}

// Authorizer returns the RBAC authorizer of Kubernetes over these roles.
func (r *Roles) Authorizer() *rbac.RBACAuthorizer { return rbac.New(r, r, r, r) }

// Use sets the storages that serve the RBAC API. Call it before the first request.
func (r *Roles) Use(roles, clusterRoles rest.Getter, bindings, clusterBindings rest.Lister) {
	r.roles, r.clusterRoles, r.bindings, r.clusterBindings = roles, clusterRoles, bindings, clusterBindings
}

// GetRole implements validation.RoleGetter. An inert role gives nothing in the space: it is as if it
// were not there.
func (r *Roles) GetRole(ctx context.Context, ns, name string) (*rbacv1.Role, error) {
	obj, err := r.roles.Get(apirequest.WithNamespace(ctx, ns), name, &metav1.GetOptions{ResourceVersion: "0"})
	if err == nil && v1alpha1.Inert(obj.(*rbacapi.Role).Labels) {
		err = apierrors.NewNotFound(rbacv1.Resource("roles"), name)
	}
	if err != nil {
		return nil, err
	}
	out := &rbacv1.Role{}
	return out, rbacconv.Convert_rbac_Role_To_v1_Role(obj.(*rbacapi.Role), out, nil)
}

// GetClusterRole implements validation.ClusterRoleGetter. A space's own role hides the well-known
// one of the same name.
func (r *Roles) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	obj, err := r.clusterRoles.Get(apirequest.WithNamespace(ctx, ""), name, &metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return r.Bootstrap.role(ctx, name)
	}
	if err == nil && v1alpha1.Inert(obj.(*rbacapi.ClusterRole).Labels) {
		err = apierrors.NewNotFound(rbacv1.Resource("clusterroles"), name)
	}
	if err != nil {
		return nil, err
	}
	out := &rbacv1.ClusterRole{}
	return out, rbacconv.Convert_rbac_ClusterRole_To_v1_ClusterRole(obj.(*rbacapi.ClusterRole), out, nil)
}

// ListRoleBindings implements validation.RoleBindingLister.
func (r *Roles) ListRoleBindings(ctx context.Context, ns string) ([]*rbacv1.RoleBinding, error) {
	obj, err := storage.FromCache(apirequest.WithNamespace(ctx, ns), r.bindings)
	if err != nil {
		return nil, err
	}
	items := obj.(*rbacapi.RoleBindingList).Items
	out := make([]*rbacv1.RoleBinding, 0, len(items))
	for i := range items {
		if passing(items[i].Annotations) || v1alpha1.Inert(items[i].Labels) {
			continue
		}
		b := &rbacv1.RoleBinding{}
		if err := rbacconv.Convert_rbac_RoleBinding_To_v1_RoleBinding(&items[i], b, nil); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// ListClusterRoleBindings implements validation.ClusterRoleBindingLister.
func (r *Roles) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	obj, err := storage.FromCache(apirequest.WithNamespace(ctx, ""), r.clusterBindings)
	if err != nil {
		return nil, err
	}
	items := obj.(*rbacapi.ClusterRoleBindingList).Items
	out := append([]*rbacv1.ClusterRoleBinding(nil), r.Bootstrap.Bindings...)
	for i := range items {
		if passing(items[i].Annotations) || v1alpha1.Inert(items[i].Labels) {
			continue
		}
		b := &rbacv1.ClusterRoleBinding{}
		if err := rbacconv.Convert_rbac_ClusterRoleBinding_To_v1_ClusterRoleBinding(&items[i], b, nil); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// passing reports whether a binding came to a relay from its parent, on its way to sites. It says
// who has rights there. Here the same names are other people, and it gives them nothing.
func passing(annotations map[string]string) bool { return annotations[v1alpha1.AnnotationOrigin] != "" }
