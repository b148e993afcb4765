package authz

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Accounts reads ServiceAccounts of the space of the context.
type Accounts interface {
	GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
}

// OwnToken lets a user of a space request another token for their own account, where the account's
// annotation skerry.dev/renewable allows it. The user must have authenticated with a token of that
// very account: a user of an OIDC provider with the same name must not.
type OwnToken struct{ Accounts Accounts }

// Authorize implements authorizer.UnconditionalAuthorizer.
func (o OwnToken) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	asks := a.IsResourceRequest() && a.GetVerb() == "create" && a.GetAPIGroup() == "" &&
		a.GetResource() == "serviceaccounts" && a.GetSubresource() == "token" &&
		a.GetNamespace() == v1alpha1.UsersNamespace
	if !asks || who == nil || who.GetUID() == "" || who.GetName() != a.GetName() {
		return authorizer.DecisionNoOpinion, "", nil
	}
	account, err := o.Accounts.GetServiceAccount(ctx, v1alpha1.UsersNamespace, a.GetName())
	if err != nil || string(account.UID) != who.GetUID() || account.DeletionTimestamp != nil ||
		account.Annotations[v1alpha1.AnnotationRenewable] != "true" {
		return authorizer.DecisionNoOpinion, "", nil // the other rules say what is missing
	}
	return authorizer.DecisionAllow, "the holder may renew tokens of this account", nil
}
