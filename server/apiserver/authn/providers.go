package authn

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	certutil "k8s.io/client-go/util/cert"
)

const (
	// providerTimeout is how long a provider may take to answer.
	providerTimeout = 30 * time.Second
	// reloadEvery is how often the configuration is looked at, reloadPatience how long its providers
	// may take to be ready.
	reloadEvery    = 10 * time.Second
	reloadPatience = time.Minute
)

// signingAlgorithms are the algorithms that providers may sign with: all asymmetric ones.
var signingAlgorithms = []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"}

// providers authenticates people by the OIDC providers of a file, and follows what the file says.
// While a new configuration is wrong, or its providers do not answer, the one before it counts.
type providers struct {
	path      string
	anonymous *apiserverapi.AnonymousAuthConfig
	log       *slog.Logger
	current   atomic.Pointer[providerSet]
}

// providerSet is what one configuration says.
type providerSet struct {
	authenticator.Token
	ready func() error // of all providers
	stop  context.CancelFunc
}

// AuthenticateToken implements authenticator.Token.
func (p *providers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	return p.current.Load().AuthenticateToken(ctx, token)
}

// newProviderSet returns the providers of a configuration. It fetches their keys until stop is called.
func newProviderSet(ctx context.Context, c *apiserverapi.AuthenticationConfiguration) (*providerSet, error) {
	ctx, stop := context.WithCancel(ctx)
	var all []authenticator.Token
	var checks []func() error
	for _, jwt := range c.JWT {
		one, err := newProvider(ctx, jwt)
		if err != nil {
			stop()
			return nil, fmt.Errorf("issuer %s: %w", jwt.Issuer.URL, err)
		}
		all, checks = append(all, one), append(checks, one.HealthCheck)
	}
	ready := func() (err error) {
		for _, check := range checks {
			err = errors.Join(err, check())
		}
		return err
	}
	return &providerSet{outsiders{tokenunion.New(all...)}, ready, stop}, nil
}

func newProvider(
	ctx context.Context,
	jwt apiserverapi.JWTAuthenticator,
) (oidc.AuthenticatorTokenWithHealthCheck, error) {
	if jwt.Issuer.EgressSelectorType != "" {
		return nil, errors.New("egressSelectorType is not supported; leave it out")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if ca := jwt.Issuer.CertificateAuthority; ca != "" {
		roots, err := certutil.NewPoolFromBytes([]byte(ca))
		if err != nil {
			return nil, fmt.Errorf("certificateAuthority: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	return oidc.New(ctx, oidc.Options{
		JWTAuthenticator:     jwt,
		SupportedSigningAlgs: signingAlgorithms,
		Client:               &http.Client{Transport: transport, Timeout: providerTimeout},
	})
}

// follow replaces the providers when the file changes, until ctx ends. known is what the file held
// when the present ones were made.
func (p *providers) follow(ctx context.Context, known []byte) {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		data, err := os.ReadFile(p.path)
		if err != nil {
			p.log.Warn("the authentication configuration cannot be read; the one before it counts", "err", err)
			continue
		}
		if bytes.Equal(data, known) {
			continue
		}
		settled, err := p.reload(ctx, data)
		switch {
		case err != nil && ctx.Err() == nil:
			p.log.Error("the changed authentication configuration is not used; the one before it counts", "err", err)
		case err == nil:
			p.log.Info("the authentication configuration was read again", "file", p.path)
		}
		if settled {
			known = data
		}
	}
}

// reload makes other providers the present ones. It reports false if it is worth another try with the
// same data.
func (p *providers) reload(ctx context.Context, data []byte) (settled bool, err error) {
	c, err := readAuthentication(p.path, data)
	if err != nil {
		return true, err
	}
	if !reflect.DeepEqual(c.Anonymous, p.anonymous) {
		return true, errors.New("anonymous has changed, which takes a restart of the center")
	}
	next, err := newProviderSet(ctx, c)
	if err != nil {
		return true, err
	}
	patience, cancel := context.WithTimeout(ctx, reloadPatience)
	defer cancel()
	for next.ready() != nil {
		select {
		case <-patience.Done():
			next.stop()
			return false, fmt.Errorf("after %s: %w", reloadPatience, next.ready())
		case <-time.After(100 * time.Millisecond):
		}
	}
	p.current.Swap(next).stop()
	return true, nil
}

// New returns the authenticator of all requests. path is the AuthenticationConfiguration of OIDC
// providers, "" for none; it is read again when it changes. clientCAs returns the authorities of
// client certificates; nil for none. stop ends the goroutines that follow the file and fetch the
// providers' keys.
func New(
	path string,
	clientCAs func() *x509.CertPool,
	tokens authenticator.Token,
	log *slog.Logger,
) (all authenticator.Request, stop func(), err error) {
	if path == "" {
		return newAuthenticator(clientCAs, tokens, nil, nil), func() {}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the authentication configuration: %w; write that file, or leave out "+
			"--authentication-config", err)
	}
	c, err := readAuthentication(path, data)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	first, err := newProviderSet(ctx, c)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	people := &providers{path: path, anonymous: c.Anonymous, log: log}
	people.current.Store(first)
	var following sync.WaitGroup
	following.Go(func() { people.follow(ctx, data) })
	return newAuthenticator(clientCAs, tokens, people, c.Anonymous), func() { cancel(); following.Wait() }, nil
}
