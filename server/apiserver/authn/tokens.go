package authn

import (
	"context"
	"crypto"
	"fmt"
	"net/url"
	"strings"
	"time"

	"gopkg.in/go-jose/go-jose.v2/jwt"
	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	coreconv "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// Audience is the audience of ServiceAccount tokens whose TokenRequest names none.
const Audience = "skerry"

// Tokens issues and checks ServiceAccount tokens. Every space is an issuer of its own, so a token of
// one space is refused in another. The ServiceAccount, and the Secret that the token is bound to,
// must still exist with the same UID.
type Tokens struct {
	external string
	key      crypto.Signer
	keys     serviceaccount.PublicKeysGetter
	accounts rest.Getter
	secrets  rest.Getter
	// target returns the UID of a target of the center, "" where there is none.
	target func(name string) string
}

// NewTokens returns Tokens that sign with key. external is the URL of the center. target returns the
// UID of a target of the center, "" if there is none. Use must be called before the first request.
func NewTokens(external string, key crypto.Signer, target func(name string) string) (*Tokens, error) {
	keys, err := serviceaccount.StaticPublicKeysGetter([]any{key.Public()})
	if err != nil {
		return nil, fmt.Errorf("key of service accounts: %w", err)
	}
	return &Tokens{external: external, key: key, keys: keys, target: target}, nil
}

// Use sets the storages of the core group, from which ServiceAccounts and Secrets are read.
func (t *Tokens) Use(m map[string]rest.Storage) {
	t.accounts, t.secrets = m["serviceaccounts"].(rest.Getter), m["secrets"].(rest.Getter)
}

func (t *Tokens) issuer(space string) string { return t.external + request.URLPrefix + space }

// GenerateToken implements serviceaccount.TokenGenerator.
func (t *Tokens) GenerateToken(ctx context.Context, claims *jwt.Claims, private any) (string, error) {
	space := request.Space(ctx)
	if space == "" || space == request.AllSpaces {
		return "", request.ErrNoSpace
	}
	g, err := serviceaccount.JWTTokenGenerator(t.issuer(space), t.key)
	if err != nil {
		return "", fmt.Errorf("issuer of space %s: %w", space, err)
	}
	return g.GenerateToken(ctx, claims, private)
}

// issuerOf returns the issuer that a token of the space must have. The center's address in it may be
// that of another replica, or an earlier one. All of them sign with one key, and the path behind the
// address names the space.
func (t *Tokens) issuerOf(token, space string) string {
	var claims jwt.Claims
	if parsed, err := jwt.ParseSigned(token); err == nil && parsed.UnsafeClaimsWithoutVerification(&claims) == nil {
		if base, ok := strings.CutSuffix(claims.Issuer, request.URLPrefix+space); ok {
			if u, err := url.Parse(base); err == nil && u.Scheme == "https" && base == "https://"+u.Host {
				return claims.Issuer
			}
		}
	}
	return t.issuer(space)
}

// AuthenticateToken implements authenticator.Token, for the issuer of the request's space alone.
func (t *Tokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	space := request.Space(ctx)
	if space == "" || space == request.AllSpaces {
		return nil, false, nil
	}
	auds := authenticator.Audiences{Audience}
	a := serviceaccount.JWTTokenAuthenticator(
		[]string{t.issuerOf(token, space)},
		t.keys,
		auds,
		serviceaccount.NewValidator(t),
	)
	who, ok, err := a.AuthenticateToken(ctx, token)
	if ok && err == nil && boundTo(who) != request.Site(ctx) {
		return nil, false, errOtherSite
	}
	return asPerson(who), ok, err
}

// GetServiceAccount implements serviceaccount.ServiceAccountTokenGetter.
func (t *Tokens) GetServiceAccount(ctx context.Context, ns, name string) (*corev1.ServiceAccount, error) {
	obj, err := storage.GetCached(ctx, t.accounts, ns, name)
	if err != nil {
		return nil, named(err, "serviceaccounts", ns, name)
	}
	out := &corev1.ServiceAccount{}
	return out, coreconv.Convert_core_ServiceAccount_To_v1_ServiceAccount(obj.(*api.ServiceAccount), out, nil)
}

// GetSecret implements serviceaccount.ServiceAccountTokenGetter.
func (t *Tokens) GetSecret(ctx context.Context, ns, name string) (*corev1.Secret, error) {
	obj, err := storage.GetCached(ctx, t.secrets, ns, name)
	if err != nil {
		return nil, named(err, "secrets", ns, name)
	}
	out := &corev1.Secret{}
	return out, coreconv.Convert_core_Secret_To_v1_Secret(obj.(*api.Secret), out, nil)
}

// named says what is missing. A storage calls it by the resource that the request is about, which
// here is the one that the token was shown for.
func named(err error, resource, namespace, name string) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(corev1.Resource(resource), namespace+"/"+name)
	}
	return err
}

// GetPod implements serviceaccount.ServiceAccountTokenGetter. No token is bound to a Pod here.
func (*Tokens) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

// GetValidatingWebhookConfiguration implements serviceaccount.ServiceAccountTokenGetter. No token is
// bound to a webhook here.
func (*Tokens) GetValidatingWebhookConfiguration(_ context.Context,
	name string) (*registration.ValidatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(
		registration.Resource("validatingwebhookconfigurations"), name)
}

// GetMutatingWebhookConfiguration implements serviceaccount.ServiceAccountTokenGetter, likewise.
func (*Tokens) GetMutatingWebhookConfiguration(_ context.Context,
	name string) (*registration.MutatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(registration.Resource("mutatingwebhookconfigurations"), name)
}

// secretTokenLife is the lifetime of a token in a Secret. In Kubernetes such a token does not expire.
// Both end with the Secret and with the ServiceAccount.
const secretTokenLife = 100 * 365 * 24 * time.Hour

// SecretToken returns a token of a ServiceAccount that is bound to a Secret of its namespace.
// account and secret must have namespace, name and UID.
func (t *Tokens) SecretToken(ctx context.Context, account, secret metav1.ObjectMeta) (string, error) {
	claims, private, err := serviceaccount.Claims(api.ServiceAccount{ObjectMeta: account}, nil,
		&api.Secret{ObjectMeta: secret}, nil, nil, nil,
		int64(secretTokenLife/time.Second), 0, []string{Audience}, nil)
	if err != nil {
		return "", err
	}
	return t.GenerateToken(ctx, claims, private)
}
