package authn

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/apis/authentication"
	accountstore "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// A space gives identities to people who have no other. The ServiceAccount `alice` of the namespace
// kube-users stands for the user alice of that space alone. Her tokens are those of the account: they
// expire, and end with the account. Bindings to User alice give her rights.
//
// Only users who may impersonate the user alice may write the account or request a token for it.
// Without that rule, the role edit in all namespaces would be enough to become any user of the space.

const (
	// LongestPersonToken bounds the lifetime of tokens of users, longestRenewal that of tokens that
	// users request for themselves, longestToken that of all others.
	LongestPersonToken = 366 * 24 * time.Hour
	longestRenewal     = 30 * 24 * time.Hour
	longestToken       = 24 * time.Hour
)

// asPerson replaces an account of kube-users by the user that it stands for. It returns all others
// unchanged.
func asPerson(r *authenticator.Response) *authenticator.Response {
	if r == nil {
		return nil
	}
	ns, name, err := serviceaccount.SplitUsername(r.User.GetName())
	if err != nil || ns != v1alpha1.UsersNamespace || !isPerson(name) {
		return r
	}
	extra := map[string][]string{}
	if id := r.User.GetExtra()[user.CredentialIDKey]; len(id) > 0 {
		extra[user.CredentialIDKey] = id
	}
	known := *r
	known.User = &user.DefaultInfo{Name: name, UID: r.User.GetUID(), Extra: extra}
	return &known
}

// isPerson reports whether an account of kube-users stands for a user. The account default, which
// every namespace has, does not.
func isPerson(account string) bool { return account != "default" }

// accountTokens serves TokenRequests. Tokens of users may live longer than those of other accounts.
type accountTokens struct{ *accountstore.TokenREST }

// Create implements rest.NamedCreater.
func (t accountTokens) Create(
	ctx context.Context,
	name string,
	obj runtime.Object,
	valid rest.ValidateObjectFunc,
	o *metav1.CreateOptions,
) (runtime.Object, error) {
	request, ok := obj.(*authentication.TokenRequest)
	longest := int64(longestFor(ctx, name) / time.Second)
	if ok && request.Spec.ExpirationSeconds > longest {
		warning.AddWarning(ctx, "", fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds",
			request.Spec.ExpirationSeconds, longest))
		request.Spec.ExpirationSeconds = longest
	}
	return t.TokenREST.Create(ctx, name, obj, valid, o)
}

// longestFor returns how long a token of an account of the context's namespace may live that the
// context's user requests.
func longestFor(ctx context.Context, account string) time.Duration {
	if apirequest.NamespaceValue(ctx) != v1alpha1.UsersNamespace {
		return longestToken
	}
	if who, ok := apirequest.UserFrom(ctx); ok && who.GetName() == account {
		return longestRenewal
	}
	return LongestPersonToken
}

// LimitTokens bounds the lifetime of tokens that the core group issues. m has the group's storages.
func LimitTokens(m map[string]rest.Storage) error {
	const path = "serviceaccounts/token"
	upstream, ok := m[path].(*accountstore.TokenREST)
	if !ok {
		return fmt.Errorf("%s is served by %T", path, m[path])
	}
	m[path] = accountTokens{upstream}
	return nil
}
