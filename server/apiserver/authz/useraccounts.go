package authz

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Users guards the accounts that stand for users of a space. Writing such an account, or requesting
// a token for it, requires the right to impersonate its user.
type Users struct {
	Next authorizer.UnconditionalAuthorizer
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (p Users) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	guarded := a.IsResourceRequest() && !a.IsReadOnly() && a.GetAPIGroup() == "" &&
		a.GetResource() == "serviceaccounts" && a.GetNamespace() == v1alpha1.UsersNamespace
	if !guarded || a.GetUser() == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	become := authorizer.AttributesRecord{User: a.GetUser(), Verb: "impersonate", APIVersion: "v1",
		Resource: "users", Name: a.GetName(), ResourceRequest: true}
	decision, _, err := p.Next.Authorize(ctx, become)
	if decision == authorizer.DecisionAllow {
		return authorizer.DecisionNoOpinion, "", nil
	}
	return authorizer.DecisionDeny, fmt.Sprintf("an account of namespace %s is a user of the space: "+
		"whoever writes it, or requests its token, needs the right to impersonate that user", v1alpha1.UsersNamespace), err
}
