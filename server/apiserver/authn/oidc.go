package authn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	apiserverinstall "k8s.io/apiserver/pkg/apis/apiserver/install"
	apiservervalidation "k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	certutil "k8s.io/client-go/util/cert"
)

// readAuthentication reads an AuthenticationConfiguration of Kubernetes: OIDC providers, and the
// paths at which requests may be anonymous. A user of a provider is the same in every space, and has
// the rights that each space gives.
func readAuthentication(path string) (*apiserverapi.AuthenticationConfiguration, error) {
	if path == "" {
		return &apiserverapi.AuthenticationConfiguration{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the authentication configuration: %w", err)
	}
	scheme := runtime.NewScheme()
	apiserverinstall.Install(scheme)
	obj, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w; it must be an AuthenticationConfiguration of "+
			"apiserver.config.k8s.io/v1", path, err)
	}
	c, ok := obj.(*apiserverapi.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T, not an AuthenticationConfiguration", path, obj)
	}
	if err := apiservervalidation.ValidateAuthenticationConfiguration(
		authenticationcel.NewDefaultCompiler(),
		c,
		nil,
	).ToAggregate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// oidcProviders returns the authenticator of all OIDC providers, nil for none. It fetches their keys
// until ctx ends.
func oidcProviders(ctx context.Context, c *apiserverapi.AuthenticationConfiguration) (authenticator.Token, error) {
	var all []authenticator.Token
	for _, jwt := range c.JWT {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		if ca := jwt.Issuer.CertificateAuthority; ca != "" {
			roots, err := certutil.NewPoolFromBytes([]byte(ca))
			if err != nil {
				return nil, fmt.Errorf("certificateAuthority of issuer %s: %w", jwt.Issuer.URL, err)
			}
			transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		}
		context.AfterFunc(ctx, transport.CloseIdleConnections)
		options := oidc.Options{
			JWTAuthenticator:     jwt,
			SupportedSigningAlgs: signingAlgorithms,
			Client:               &http.Client{Transport: transport, Timeout: providerTimeout},
		}
		if jwt.Issuer.EgressSelectorType != "" {
			return nil, fmt.Errorf("issuer %s: egressSelectorType is not supported; leave it out", jwt.Issuer.URL)
		}
		one, err := oidc.New(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("issuer %s: %w", jwt.Issuer.URL, err)
		}
		all = append(all, one)
	}
	if all == nil {
		return nil, nil
	}
	return tokenunion.New(all...), nil
}

// providerTimeout is how long a provider may take to answer.
const providerTimeout = 30 * time.Second

// signingAlgorithms are the algorithms that providers may sign with: all asymmetric ones.
var signingAlgorithms = []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"}

// New returns the authenticator of all requests. path is the AuthenticationConfiguration of OIDC
// providers, "" for none. clientCAs returns the authorities of client certificates; nil for none.
// stop ends the goroutines that fetch the providers' keys.
func New(
	path string,
	clientCAs func() *x509.CertPool,
	tokens authenticator.Token,
) (all authenticator.Request, stop func(), err error) {
	c, err := readAuthentication(path)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	people, err := oidcProviders(ctx, c)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return newAuthenticator(clientCAs, tokens, people, c.Anonymous), stop, nil
}
