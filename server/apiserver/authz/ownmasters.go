package authz

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// OnlyOwnMasters keeps an admin of a space from becoming an admin of the center by impersonation:
// only members of system:masters may act as that group.
func OnlyOwnMasters(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if strings.HasPrefix(a.GetVerb(), "impersonate") && a.GetResource() == "groups" &&
		a.GetName() == user.SystemPrivilegedGroup {
		return authorizer.DecisionDeny, "only an admin of the center may act as " + user.SystemPrivilegedGroup, nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}
