package admission

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// UserTokens is the admission plugin that refuses Secrets for tokens of users of a space: whoever may
// write Secrets would become any of them. Package accounttokens fills none.
type UserTokens struct{}

// Handles implements admission.Interface.
func (UserTokens) Handles(o admission.Operation) bool { return o == admission.Create }

// Validate implements admission.ValidationInterface.
func (UserTokens) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	secret, is := a.GetObject().(*api.Secret)
	if !is || a.GetNamespace() != v1alpha1.UsersNamespace || secret.Type != api.SecretTypeServiceAccountToken ||
		request.FromCenter(ctx) {
		return nil
	}
	return admission.NewForbidden(a, errors.New("an account of namespace "+v1alpha1.UsersNamespace+" is a user of the "+
		"space, and no Secret has its token; whoever may impersonate the user requests one: skerry space kubeconfig"))
}
