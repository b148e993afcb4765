package authn

import (
	"crypto/x509"
	"net/http"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"

	"skerry.dev/skerry/server/apiserver/request"
)

// CenterUser is the user name of the center's own parts.
const CenterUser = "system:skerry:center"

// newAuthenticator returns the authenticator that the package comment describes. clientCAs returns
// the present authorities of client certificates. tokens checks tokens of ServiceAccounts, people
// those of OIDC providers. clientCAs and people may be nil.
func newAuthenticator(
	clientCAs func() *x509.CertPool,
	tokens, people authenticator.Token,
	nobody *apiserverapi.AnonymousAuthConfig,
) authenticator.Request {
	site := group.NewAuthenticatedGroupAdder(bearertoken.New(tokens))
	if people != nil {
		tokens = tokenunion.New(tokens, people)
	}
	known := []authenticator.Request{bearertoken.New(tokens)}
	if clientCAs != nil {
		options := func() (x509.VerifyOptions, bool) {
			o := x509request.DefaultVerifyOptions()
			o.Roots = clientCAs()
			return o, true
		}
		known = append(
			[]authenticator.Request{x509request.NewDynamic(options, x509request.CommonNameUserConversion)},
			known...)
	}
	outer := group.NewAuthenticatedGroupAdder(union.New(known...))
	switch {
	case nobody == nil:
		outer = union.NewFailOnError(outer, anonymous.NewAuthenticator(nil))
	case nobody.Enabled:
		outer = union.NewFailOnError(outer, anonymous.NewAuthenticator(nobody.Conditions))
	}
	inner := &authenticator.Response{User: &user.DefaultInfo{
		Name: CenterUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}}
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if request.FromCenter(r.Context()) {
			return inner, true, nil
		}
		if request.Site(r.Context()) != "" {
			return site.AuthenticateRequest(r) // a site's Pods are ServiceAccounts, never people
		}
		return outer.AuthenticateRequest(r)
	})
}
