package credential

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/keyfile"
)

const (
	// renewAfter is the age at which a credential is renewed, a third of its life if that is less. It
	// is also when a center is asked again that does not renew; askAgain is so where nobody answered.
	renewAfter = 24 * time.Hour
	askAgain   = 5 * time.Minute
	// renewTime bounds a renewal.
	renewTime = 10 * time.Second
	// longestAnswer bounds what a center may answer, in bytes.
	longestAnswer = 1 << 20
	// renewalPath is where a center renews client certificates.
	renewalPath = "/renew-certificate"
)

var (
	// errUnknown is matched by errors of renewals when the center does not accept the credential.
	errUnknown = errors.New("the center no longer accepts them")
	// errNotRenewable is matched when the center accepts the credential and does not renew it.
	errNotRenewable = errors.New("the center does not renew them")
)

// due reports whether a credential is to be renewed at a time.
func (c Credential) due(now time.Time) bool {
	from, until, err := c.span()
	if err != nil {
		return false
	}
	return now.Sub(from) > min(renewAfter, until.Sub(from)/3) && now.After(c.Next)
}

// renewed is a new credential and the center's authorities.
type renewed struct {
	Credential
	// authorities come with a certificate. shown is what the center showed in the handshake; nil where
	// nobody answered.
	authorities []byte
	shown       *tls.ConnectionState
}

// renew has the center issue another credential. center is the address of the API that the
// credential is used at.
func (c Credential) renew(ctx context.Context, center *rest.Config) (renewed, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	config := rest.CopyConfig(center)
	u, err := url.Parse(config.Host)
	if err != nil {
		return renewed{}, fmt.Errorf("address of the center: %w", err)
	}
	u.Path, _, _ = strings.Cut(u.Path, "/targets/")
	u.Path, _, _ = strings.Cut(u.Path, "/clusters/")
	if c.Token != "" {
		config.BearerToken = c.Token
		return c.renewToken(ctx, config, u)
	}
	config.CertData, config.KeyData = []byte(c.Certificate), []byte(c.Key)
	return c.renewCertificate(ctx, config, u)
}

func (c Credential) renewCertificate(ctx context.Context, config *rest.Config, center *url.URL) (renewed, error) {
	certs, err := keyfile.Certificates([]byte(c.Certificate))
	if err != nil {
		return renewed{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return renewed{}, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{RawSubject: certs[0].RawSubject}, key)
	if err != nil {
		return renewed{}, err
	}
	var answer struct{ Certificate, Authorities string }
	shown, err := post(ctx, config, center.JoinPath(renewalPath), keyfile.EncodeRequest(der), &answer)
	if err != nil {
		return renewed{shown: shown}, err
	}
	if _, err := keyfile.Certificates([]byte(answer.Certificate)); err != nil {
		return renewed{}, fmt.Errorf("the center's answer: %w", err)
	}
	encoded, err := keyfile.EncodeKey(key)
	return renewed{Credential{Certificate: answer.Certificate, Key: string(encoded)}, []byte(answer.Authorities), shown},
		err
}

func (c Credential) renewToken(ctx context.Context, config *rest.Config, center *url.URL) (renewed, error) {
	t, err := ParseToken(c.Token)
	if err != nil {
		return renewed{}, err
	}
	seconds := int64(t.Expires.Sub(t.Issued) / time.Second)
	body, err := json.Marshal(authenticationv1.TokenRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"},
		Spec:     authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	})
	if err != nil {
		return renewed{}, err
	}
	at := center.JoinPath("clusters", t.Space, "api/v1/namespaces", v1alpha1.UsersNamespace, "serviceaccounts", t.User,
		"token")
	var answer authenticationv1.TokenRequest
	shown, err := post(ctx, config, at, body, &answer)
	if err != nil {
		return renewed{shown: shown}, err
	}
	if _, err := ParseToken(answer.Status.Token); err != nil {
		return renewed{}, fmt.Errorf("the center's answer: %w", err)
	}
	return renewed{Credential: Credential{Token: answer.Status.Token}, shown: shown}, nil
}

// post sends body and decodes the answer, which is JSON. It returns what the center showed in the
// handshake, nil where nobody answered.
func post(
	ctx context.Context,
	config *rest.Config,
	to *url.URL,
	body []byte,
	answer any,
) (*tls.ConnectionState, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	if err != nil {
		return resp.TLS, err
	}
	if resp.StatusCode/100 != 2 {
		return resp.TLS, refusal(resp, data)
	}
	return resp.TLS, json.Unmarshal(data, answer)
}

// refusal is the error that an answer stands for.
func refusal(resp *http.Response, body []byte) error {
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil || status.Message == "" {
		status.Message = resp.Status
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: %s", errUnknown, status.Message)
	case http.StatusForbidden:
		return fmt.Errorf("%w: %s", errNotRenewable, status.Message)
	}
	return fmt.Errorf("the center answers: %s", status.Message)
}
