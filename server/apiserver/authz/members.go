package authz

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/apis/authentication"
	rbacapi "k8s.io/kubernetes/pkg/apis/rbac"

	"skerry.dev/skerry/server/apiserver/storage"
)

// Members restricts the group system:authenticated to those who are known in the space of the
// request: its ServiceAccounts, and people whom a binding of the space names by name or by group.
// All other people of the center have no rights there. Otherwise their certificate alone would let
// them read the discovery of every space, and use whatever a space gives to "everybody".
type Members struct {
	Roles *Roles
	Next  authorizer.UnconditionalAuthorizer
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (m *Members) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if who == nil || !slices.Contains(who.GetGroups(), user.AllAuthenticated) ||
		strings.HasPrefix(who.GetName(), serviceaccount.ServiceAccountUsernamePrefix) {
		return m.Next.Authorize(ctx, a)
	}
	// What is allowed without that group, which is nearly everything, is so by a binding that makes
	// a member.
	if decision, why, err := m.Next.Authorize(ctx, in(a, "")); decision != authorizer.DecisionNoOpinion {
		return decision, why, err
	}
	decision, why, err := m.Next.Authorize(ctx, a)
	if decision != authorizer.DecisionAllow {
		return decision, why, err
	}
	if aboutSelf(a) {
		return decision, why, nil
	}
	if known, err := m.Roles.name(ctx, who); known || err != nil {
		return decision, why, err
	}
	if decision, why, err = m.Next.Authorize(
		ctx,
		in(a, user.AllUnauthenticated),
	); decision == authorizer.DecisionNoOpinion {
		why = "no role binding of this space names this user or one of their groups, or there is no such space"
	}
	return decision, why, err
}

// aboutSelf reports whether a user asks who he is. The answer contains nothing of the space.
func aboutSelf(a authorizer.Attributes) bool {
	return a.IsResourceRequest() && a.GetAPIGroup() == authentication.GroupName &&
		a.GetResource() == "selfsubjectreviews" &&
		a.GetVerb() == "create"
}

// name reports whether a binding that is stored in the space of the context names the user.
func (r *Roles) name(ctx context.Context, who user.Info) (bool, error) {
	named := func(s rbacapi.Subject) bool {
		switch s.Kind {
		case rbacapi.UserKind:
			return s.Name == who.GetName()
		case rbacapi.GroupKind:
			return s.Name != user.AllAuthenticated && slices.Contains(who.GetGroups(), s.Name)
		}
		return false
	}
	ctx = apirequest.WithNamespace(ctx, "") // of all namespaces
	obj, err := storage.FromCache(ctx, r.clusterBindings)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(
		obj.(*rbacapi.ClusterRoleBindingList).Items,
		func(b rbacapi.ClusterRoleBinding) bool {
			return !passing(b.Annotations) && slices.ContainsFunc(b.Subjects, named)
		},
	) {
		return true, nil
	}
	if obj, err = storage.FromCache(ctx, r.bindings); err != nil {
		return false, err
	}
	return slices.ContainsFunc(
		obj.(*rbacapi.RoleBindingList).Items,
		func(b rbacapi.RoleBinding) bool {
			return !passing(b.Annotations) && slices.ContainsFunc(b.Subjects, named)
		},
	), nil
}

// in returns the request with another group in place of system:authenticated, or without it where
// the group is "".
func in(a authorizer.Attributes, group string) authorizer.Attributes {
	groups := slices.DeleteFunc(
		slices.Clone(a.GetUser().GetGroups()),
		func(g string) bool { return g == user.AllAuthenticated },
	)
	if group != "" {
		groups = append(groups, group)
	}
	return asMember{a, inGroups{a.GetUser(), groups}}
}

type asMember struct {
	authorizer.Attributes
	who user.Info
}

func (a asMember) GetUser() user.Info { return a.who }

type inGroups struct {
	user.Info
	groups []string
}

func (u inGroups) GetGroups() []string { return u.groups }
