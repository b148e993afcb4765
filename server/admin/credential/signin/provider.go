package signin

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"

	"skerry.dev/skerry/tunnel/netreason"
)

// answerTime is how long a provider may take to answer.
const answerTime = 30 * time.Second

// signingAlgorithms are those that the center takes: all asymmetric ones.
var signingAlgorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256,
	oidc.PS384, oidc.PS512}

// conversation is with a provider whose discovery document was read. Its context carries the HTTP
// client. close must be called.
type conversation struct {
	context.Context
	config   oauth2.Config
	verifier *oidc.IDTokenVerifier
	close    func()
}

// open reads the discovery document of the provider.
func (p Provider) open(ctx context.Context) (*conversation, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if p.CA != "" {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(p.CA)) {
			return nil, fmt.Errorf("--%s and --%s: no certificate in PEM", caFileFlag, caFlag)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	ctx = oidc.ClientContext(ctx, &http.Client{Transport: transport, Timeout: answerTime})
	c := &conversation{Context: ctx, close: transport.CloseIdleConnections,
		config: oauth2.Config{ClientID: p.ClientID, Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}}
	if p.SecretFile != "" {
		secret, err := os.ReadFile(p.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("read --%s: %w", secretFlag, err)
		}
		c.config.ClientSecret = strings.TrimSpace(string(secret))
	}
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("ask %s how to log in: %w%s", p.Issuer, reason(err), cmp.Or(p.todo(err), p.reach()))
	}
	var more struct {
		Device string `json:"device_authorization_endpoint"`
	}
	if err := found.Claims(&more); err != nil {
		c.close()
		return nil, fmt.Errorf("ask %s how to log in: %w", p.Issuer, err)
	}
	c.config.Endpoint = found.Endpoint()
	c.config.Endpoint.DeviceAuthURL = more.Device
	c.verifier = found.Verifier(&oidc.Config{ClientID: p.ClientID, SupportedSigningAlgs: signingAlgorithms})
	return c, nil
}

// verify takes the ID token out of the provider's answer. nonce is the one of the request, empty for
// none.
func (c *conversation) verify(t *oauth2.Token, nonce string) (*oidc.IDToken, string, error) {
	raw, ok := t.Extra("id_token").(string)
	if !ok || raw == "" {
		return nil, "", errors.New("the provider gives no ID token; it must support OpenID Connect")
	}
	id, err := c.verifier.Verify(c, raw)
	if err != nil {
		return nil, "", fmt.Errorf("the provider's ID token: %w", err)
	}
	if id.Nonce != nonce && nonce != "" {
		return nil, "", errors.New("the provider's ID token is the answer to another login")
	}
	return id, raw, nil
}

// reason is an error of the network, or of the provider, in a few words. No answer of the provider's
// is in it beyond its code and description.
func reason(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.ErrorCode != "" {
		if refused.ErrorDescription != "" && refused.ErrorDescription != refused.ErrorCode {
			return fmt.Errorf("%s (%s)", refused.ErrorDescription, refused.ErrorCode)
		}
		return errors.New(refused.ErrorCode)
	}
	if refused != nil && refused.Response != nil {
		return errors.New(refused.Response.Status)
	}
	if why, ok := netreason.Of(err); ok {
		return errors.New(why)
	}
	return err
}

// todo is what to do about an error of the provider, and what precedes that; it is empty where that
// is not known.
func (p Provider) todo(err error) string {
	var refused *oauth2.RetrieveError
	var authority x509.UnknownAuthorityError
	code := ""
	if errors.As(err, &refused) {
		code = refused.ErrorCode
	}
	switch {
	case errors.As(err, &authority):
		return fmt.Sprintf("; name the file with the provider's authority: --%s FILE", caFileFlag)
	case code == "invalid_client", code == "unauthorized_client", code == "unsupported_grant_type":
		return fmt.Sprintf("; at the provider make a public client %q, and allow it the authorization code flow with "+
			"PKCE, and for --device the device flow", p.ClientID)
	case code == "invalid_scope":
		return fmt.Sprintf("; at the provider allow the client these scopes: openid %s", strings.Join(p.Scopes, " "))
	}
	return ""
}

// reach says what to look at where the provider does not answer as one.
func (p Provider) reach() string {
	return "; is --issuer right, and does this machine reach it? See: curl " +
		strings.TrimSuffix(p.Issuer, "/") + "/.well-known/openid-configuration"
}
