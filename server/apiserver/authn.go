package apiserver

import (
	"crypto/x509"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
)

// loopbackUser is who the center's own parts are.
const loopbackUser = "system:skerry:center"

// newAuthenticator tries, in this order: the loopback, a client certificate of the pool of the moment, a ServiceAccount token of the
// request's space. Whoever shows nothing is anonymous; whoever shows something wrong is refused.
func newAuthenticator(clientCAs func() *x509.CertPool, tokens authenticator.Token) authenticator.Request {
	known := []authenticator.Request{bearertoken.New(tokens)}
	if clientCAs != nil {
		options := func() (x509.VerifyOptions, bool) {
			o := x509request.DefaultVerifyOptions()
			o.Roots = clientCAs()
			return o, true
		}
		known = append([]authenticator.Request{x509request.NewDynamic(options, x509request.CommonNameUserConversion)}, known...)
	}
	outer := union.NewFailOnError(group.NewAuthenticatedGroupAdder(union.New(known...)), anonymous.NewAuthenticator(nil))
	inner := &authenticator.Response{User: &user.DefaultInfo{
		Name: loopbackUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}}
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if isInner(r.Context()) {
			return inner, true, nil
		}
		return outer.AuthenticateRequest(r)
	})
}
