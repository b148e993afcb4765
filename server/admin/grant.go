package admin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// grantable are the roles that every space has.
var grantable = []string{"view", "edit", "admin", "cluster-admin"}

// GrantOptions say whose rights in which space are changed.
type GrantOptions struct {
	Kubeconfig string
	Space      string
	// User or Group, of an OIDC provider, is whose rights are changed.
	User, Group string
	Role        string
	Namespace   string // empty means all
	DryRun      bool
	Out         io.Writer
}

func (o GrantOptions) subject() subject {
	if o.Group != "" {
		return subject{o.Group, true}
	}
	return subject{name: o.User}
}

func (o GrantOptions) suffix() string {
	if o.DryRun {
		return " (dry run)"
	}
	return ""
}

// GrantSpace gives a user a role in a space.
func GrantSpace(ctx context.Context, o GrantOptions) error {
	u, err := openUsers(ctx, o.Kubeconfig, o.Space, o.DryRun)
	if err != nil {
		return err
	}
	if err := u.grant(ctx, o.subject(), o.Role, o.Namespace); err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		o.Out,
		"%s of space %s has the role %s%s%s.\n",
		o.subject(),
		o.Space,
		o.Role,
		within(o.Namespace),
		o.suffix(),
	)
	return err
}

func within(ns string) string {
	if ns == "" {
		return ""
	}
	return " in namespace " + ns
}

// grant binds the user to the role, and then takes away the other roles that they were granted in
// the same namespace, or in all. What others have bound stays.
func (u *users) grant(ctx context.Context, user subject, role, ns string) error {
	if !slices.Contains(grantable, role) {
		return Usage("--role %q: use %s", role, strings.Join(grantable, ", "))
	}
	if err := checkSubject(user); err != nil {
		return err
	}
	new := binding{role: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		subjects: []rbacv1.Subject{user.rbac()}}
	new.Name, new.Namespace = bindingName(user.key(), role), ns
	new.Labels = map[string]string{v1alpha1.LabelUser: userLabel(user.key())}
	all, err := u.bindings(ctx)
	if err != nil {
		return err
	}
	same := func(b binding) bool {
		return b.Namespace == ns && b.granted(user) && b.Name == new.Name && b.role.Name == role
	}
	if !slices.ContainsFunc(all, same) {
		err := u.bind(ctx, new)
		if ns != "" && apierrors.IsNotFound(err) {
			return fmt.Errorf("space %s has no namespace %q, in which the role would be; make it there first: "+
				"kubectl create namespace %s", u.space, ns, ns)
		}
		if err != nil {
			return fmt.Errorf("grant %s to %s in space %s: %w", role, user, u.space, err)
		}
	}
	for _, b := range all {
		if b.Namespace == ns && b.granted(user) && !same(b) {
			if err := u.unbind(ctx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindingName is the name of the binding that grants a role.
func bindingName(user, role string) string {
	name := "skerry:" + role + ":" + user
	if len(content.IsPathSegmentName(name)) > 0 {
		name = "skerry:" + role + ":" + userLabel(user)
	}
	return name
}

func (u *users) bind(ctx context.Context, b binding) (err error) {
	options := metav1.CreateOptions{FieldManager: "skerry-cli", DryRun: u.dry}
	if b.Namespace == "" {
		_, err = u.api.RbacV1().ClusterRoleBindings().Create(
			ctx,
			&rbacv1.ClusterRoleBinding{ObjectMeta: b.ObjectMeta, RoleRef: b.role, Subjects: b.subjects},
			options,
		)
	} else {
		_, err = u.api.RbacV1().RoleBindings(b.Namespace).Create(
			ctx,
			&rbacv1.RoleBinding{ObjectMeta: b.ObjectMeta, RoleRef: b.role, Subjects: b.subjects},
			options,
		)
	}
	return err
}

func (u *users) unbind(ctx context.Context, b binding) (err error) {
	options := metav1.DeleteOptions{DryRun: u.dry}
	if b.Namespace == "" {
		err = u.api.RbacV1().ClusterRoleBindings().Delete(ctx, b.Name, options)
	} else {
		err = u.api.RbacV1().RoleBindings(b.Namespace).Delete(ctx, b.Name, options)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s in space %s: %w", b, u.space, err)
	}
	return nil
}

// RevokeSpace takes from a user what was granted, and their account. It tells what else names them.
func RevokeSpace(ctx context.Context, o GrantOptions) error {
	u, err := openUsers(ctx, o.Kubeconfig, o.Space, o.DryRun)
	if err != nil {
		return err
	}
	known, others, err := u.revoke(ctx, o.subject())
	switch {
	case err != nil:
		return err
	case !known && len(others) == 0:
		return fmt.Errorf("space %q has no %s %q; see: skerry space users %s", o.Space,
			strings.ToLower(o.subject().kind()), o.subject().name, o.Space)
	case known:
		fmt.Fprintf(o.Out, "%s was revoked in space %s%s.\n", o.subject(), o.Space, o.suffix())
	}
	if len(others) == 0 {
		return nil
	}
	var names []string
	for _, b := range others {
		names = append(names, b.String())
	}
	return fmt.Errorf("%s still has rights in space %s, by what skerry did not grant: %s; take those away with kubectl",
		o.subject(), o.Space, strings.Join(names, ", "))
}

// revoke reports whether there was anything to take, and the bindings of others that name the user.
func (u *users) revoke(ctx context.Context, user subject) (known bool, others []binding, err error) {
	all, err := u.bindings(ctx)
	if err != nil {
		return false, nil, err
	}
	accounts, err := u.accounts(ctx)
	if err != nil {
		return false, nil, err
	}
	for _, a := range accounts { // first, because it ends what was handed out
		if user.isGroup || a.Name != user.name {
			continue
		}
		known = true
		err := u.api.CoreV1().ServiceAccounts(a.Namespace).Delete(ctx, user.name, metav1.DeleteOptions{DryRun: u.dry})
		if err != nil && !apierrors.IsNotFound(err) {
			return known, nil, fmt.Errorf("delete the account of %s in space %s: %w", user, u.space, err)
		}
	}
	for _, b := range all {
		switch {
		case b.granted(user):
			known = true
			if err := u.unbind(ctx, b); err != nil {
				return known, nil, err
			}
		case b.names(user):
			others = append(others, b)
		}
	}
	return known, others, nil
}
