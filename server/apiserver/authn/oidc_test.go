package authn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// A provider calls nobody by a name that is the center's own.
func TestOutsiders(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []string
		ok     bool
	}{
		{"alice", []string{"devs"}, true},
		{"oidc:system:x", []string{"oidc:system:masters"}, true},
		{"alice", []string{"devs", "system:masters"}, false},
		{"alice", []string{"system:serviceaccounts"}, false},
		{"system:skerry:center", nil, false},
		{"system:serviceaccount:kube-system:x", nil, false},
	} {
		o := outsiders{authenticator.TokenFunc(func(context.Context, string) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: &user.DefaultInfo{Name: c.name, Groups: c.groups}}, true, nil
		})}
		who, ok, err := o.AuthenticateToken(t.Context(), "token")
		if ok != c.ok || (err == nil) != c.ok || (who != nil) != c.ok {
			t.Errorf("%s %v: %v, %t, %v", c.name, c.groups, who, ok, err)
		}
	}
}

// A changed file counts only if it is whole, and says the same of anonymous requests.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "authentication.yaml")
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &providers{path: path, log: slog.New(slog.DiscardHandler)}
	first, err := newProviderSet(t.Context(), mustRead(t, head))
	if err != nil {
		t.Fatal(err)
	}
	p.current.Store(first)
	for what, data := range map[string]string{
		"nonsense":       "broken",
		"an unknown key": head + "jwtt: []\n",
		"anonymous":      head + "anonymous: {enabled: false}\n",
		"an issuer by http": head + "jwt: [{issuer: {url: http://a, audiences: [b]}, " +
			"claimMappings: {username: {claim: sub, prefix: ''}}}]\n",
	} {
		if settled, err := p.reload(t.Context(), []byte(data)); err == nil || !settled || p.current.Load() != first {
			t.Errorf("%s: settled %t, %v", what, settled, err)
		}
	}
	settled, err := p.reload(t.Context(), []byte(head+"jwt: []\n"))
	if err != nil || !settled || p.current.Load() == first {
		t.Errorf("settled %t, %v", settled, err)
	}
}

func mustRead(t *testing.T, data string) *apiserverapi.AuthenticationConfiguration {
	t.Helper()
	c, err := readAuthentication("file", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Only the certificate that makes the request is renewed.
func TestRenewal(t *testing.T) {
	peer := &x509.Certificate{Raw: []byte("certificate")}
	peer.Subject.CommonName = "admin"
	const id = "X509SHA256=ae0b72ffa24b1b6fbd3389b3e8a1e7a0d8a1a4b8a9a0a9fd1c5e2b8f7d3f0000" // of another one
	var renewed *x509.Certificate
	n := Renewal{Renew: func(p *x509.Certificate, request []byte) (Renewed, error) {
		renewed = p
		if string(request) == "bad" {
			return Renewed{}, errors.New("a bad request")
		}
		return Renewed{Certificate: "new"}, nil
	}}
	ask := func(method, body string, who user.Info, peers ...*x509.Certificate) int {
		renewed = nil
		r := httptest.NewRequest(method, RenewalPath, strings.NewReader(body))
		r.TLS = &tls.ConnectionState{PeerCertificates: peers}
		if who != nil {
			r = r.WithContext(apirequest.WithUser(r.Context(), who))
		}
		w := httptest.NewRecorder()
		n.ServeHTTP(w, r)
		return w.Code
	}
	admin := &user.DefaultInfo{Name: "admin", Extra: map[string][]string{user.CredentialIDKey: {credentialID(peer)}}}
	if code := ask(http.MethodPost, "good", admin, peer); code != http.StatusOK || renewed != peer {
		t.Errorf("%d", code)
	}
	tooMuch := strings.Repeat("x", longestRequest+1)
	others := map[string][]string{user.CredentialIDKey: {id}}
	for what, c := range map[string]struct{ got, want int }{
		"a bad request":  {ask(http.MethodPost, "bad", admin, peer), http.StatusBadRequest},
		"a read":         {ask(http.MethodGet, "", admin, peer), http.StatusMethodNotAllowed},
		"too much":       {ask(http.MethodPost, tooMuch, admin, peer), http.StatusRequestEntityTooLarge},
		"no certificate": {ask(http.MethodPost, "good", admin), http.StatusForbidden},
		"nobody":         {ask(http.MethodPost, "good", nil, peer), http.StatusForbidden},
		"a token":        {ask(http.MethodPost, "good", &user.DefaultInfo{Name: "admin"}, peer), http.StatusForbidden},
		"another certificate": {ask(http.MethodPost, "good", &user.DefaultInfo{Name: "admin", Extra: others}, peer),
			http.StatusForbidden},
		"impersonation": {ask(http.MethodPost, "good", &user.DefaultInfo{Name: "bob", Extra: admin.Extra}, peer),
			http.StatusForbidden},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", what, c.got, c.want)
		}
	}
}
