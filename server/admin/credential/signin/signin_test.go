package signin

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"
	jose "gopkg.in/go-jose/go-jose.v2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
)

// issuer is a provider that gives what its fields say.
type issuer struct {
	*httptest.Server
	t         *testing.T
	key       *ecdsa.PrivateKey
	mu        sync.Mutex
	claims    map[string]any // beside the honest ones
	unsigned  bool
	refresh   string // the refresh token that counts now; empty gives none
	used      []string
	challenge string
}

func newIssuer(t *testing.T) *issuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &issuer{t: t, key: key, refresh: "r0", claims: map[string]any{}}
	routes := http.NewServeMux()
	routes.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys",
			"token_endpoint": p.URL + "/token", "authorization_endpoint": p.URL + "/authorize",
			"id_token_signing_alg_values_supported": []string{"ES256", "none"}})
	})
	routes.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k",
			Algorithm: "ES256", Use: "sig"}}})
	})
	routes.HandleFunc("/token", p.token)
	p.Server = httptest.NewTLSServer(routes)
	t.Cleanup(p.Close)
	return p
}

func (p *issuer) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.FormValue("grant_type") == "refresh_token" {
		given := r.FormValue("refresh_token")
		p.used = append(p.used, given)
		if given != p.refresh {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			w.Write([]byte(`{"error":"invalid_grant","error_description":"the session has ended"}`))
			return
		}
		p.refresh += "+"
	} else {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if r.FormValue("code") != "c" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge {
			p.t.Errorf("code %q, verifier %q", r.FormValue("code"), r.FormValue("code_verifier"))
		}
	}
	answer := map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.idToken(), "expires_in": 3600}
	if p.refresh != "" {
		answer["refresh_token"] = p.refresh
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

func (p *issuer) idToken() string {
	now := time.Now()
	claims := map[string]any{"iss": p.URL, "aud": "skerry", "sub": "1", "email": "alice@example.com", "iat": now.Unix(),
		"jti": rand.Text(),
		"exp": now.Add(time.Hour).Unix()}
	for k, v := range p.claims {
		claims[k] = v
	}
	if p.unsigned {
		data, _ := json.Marshal(claims)
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
			base64.RawURLEncoding.EncodeToString(data) + "."
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "k"}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := jwt.Signed(s).Claims(claims).CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *issuer) client() Provider {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	return Provider{Issuer: p.URL, ClientID: "skerry", CA: string(ca), Scopes: []string{"email"}}
}

// browser comes back from the provider with what change makes of the honest answer.
func (p *issuer) browser(change func(back url.Values)) func(string) error {
	return func(at string) error {
		u, err := url.Parse(at)
		if err != nil {
			return err
		}
		q := u.Query()
		p.mu.Lock()
		p.challenge = q.Get("code_challenge")
		if _, other := p.claims["nonce"]; !other {
			p.claims["nonce"] = q.Get("nonce")
		}
		p.mu.Unlock()
		back := url.Values{"code": {"c"}, "state": {q.Get("state")}}
		if change != nil {
			change(back)
		}
		resp, err := http.Get(q.Get("redirect_uri") + "?" + back.Encode())
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
}

func login(t *testing.T, p *issuer, dir string, change func(url.Values)) (string, error) {
	var out bytes.Buffer
	err := p.client().Login(t.Context(), LoginOptions{Dir: dir, Listen: "127.0.0.1:0", Browse: p.browser(change),
		Out: &out})
	return out.String(), err
}

func TestLoginAndRenewal(t *testing.T) {
	p, dir := newIssuer(t), t.TempDir()
	if _, _, err := p.client().Token(t.Context(), dir); err == nil ||
		!strings.Contains(err.Error(), "run: skerry login --issuer="+p.URL+" --client-id=skerry") {
		t.Errorf("before: %v", err)
	}
	out, err := login(t, p, dir, nil)
	if err != nil || !strings.Contains(out, "as alice@example.com") || strings.Contains(out, "eyJ") {
		t.Fatalf("%v: %s", err, out)
	}
	file := p.client().file(dir)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	first, until, err := p.client().Token(t.Context(), dir)
	if err != nil || time.Until(until) < 50*time.Minute || len(p.used) > 0 {
		t.Errorf("%v, until %s, refreshed by %v", err, until, p.used)
	}

	// One process of several renews a token that ends; a refresh token is used once.
	k, err := p.client().load(file)
	if err != nil {
		t.Fatal(err)
	}
	end := func() {
		k.Expires, k.Refresh = time.Now().Add(early-time.Second), p.refresh
		if err := save(file, k); err != nil {
			t.Fatal(err)
		}
	}
	end()
	var all sync.WaitGroup
	tokens := make([]string, 5)
	for i := range tokens {
		all.Go(func() {
			token, _, err := p.client().Token(t.Context(), dir)
			if err != nil {
				t.Error(err)
			}
			tokens[i] = token
		})
	}
	all.Wait()
	if len(slices.Compact(tokens)) != 1 || tokens[0] == first || !slices.Equal(p.used, []string{"r0"}) {
		t.Errorf("refreshed by %v", p.used)
	}

	end()
	p.refresh = "another"
	if _, _, err := p.client().Token(t.Context(), dir); err == nil ||
		!strings.Contains(err.Error(), "cannot be renewed: the session has ended (invalid_grant); run: skerry login") {
		t.Errorf("after the session: %v", err)
	}
	p.Close()
	end()
	if _, _, err := p.client().Token(t.Context(), dir); err == nil ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without the provider: %v", err)
	}
}

// What is not the answer of this provider to this login is refused, and nothing of it is kept.
func TestWrongAnswers(t *testing.T) {
	for what, c := range map[string]struct {
		of     func(*issuer)
		change func(url.Values)
		want   string
	}{
		"unsigned":         {func(p *issuer) { p.unsigned = true }, nil, "ID token"},
		"another audience": {func(p *issuer) { p.claims["aud"] = "other" }, nil, "ID token"},
		"another issuer":   {func(p *issuer) { p.claims["iss"] = "https://example.com" }, nil, "ID token"},
		"expired":          {func(p *issuer) { p.claims["exp"] = 1700000000 }, nil, "ID token"},
		"another login":    {func(p *issuer) { p.claims["nonce"] = "n" }, nil, "the answer to another login"},
		"no nonce":         {func(p *issuer) { p.claims["nonce"] = "" }, nil, "the answer to another login"},
		"refused": {nil, func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") },
			`the provider refuses: "access_denied"`},
	} {
		t.Run(what, func(t *testing.T) {
			p, dir := newIssuer(t), t.TempDir()
			if c.of != nil {
				c.of(p)
			}
			if out, err := login(t, p, dir, c.change); err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "eyJ") {
				t.Errorf("%v: %s", err, out)
			}
			if p.client().LoggedIn(dir) {
				t.Error("it is kept")
			}
		})
	}
}

// What somebody has to mend at the provider, or in the kubeconfig, is said.
func TestWhatToDo(t *testing.T) {
	p := Provider{Issuer: "https://login", ClientID: "skerry", Scopes: []string{"groups"}}
	for want, err := range map[string]error{
		`public client "skerry"`: &oauth2.RetrieveError{ErrorCode: "invalid_client", ErrorDescription: "invalid_client"},
		"openid groups":          fmt.Errorf("token: %w", &oauth2.RetrieveError{ErrorCode: "invalid_scope"}),
		"--issuer-ca FILE":       &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
	} {
		if got := p.todo(err); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := p.todo(errors.New("else")); got != "" {
		t.Errorf("%q", got)
	}
	twice := reason(&oauth2.RetrieveError{ErrorCode: "invalid_client", ErrorDescription: "invalid_client"})
	if twice.Error() != "invalid_client" {
		t.Errorf("%q says it twice", twice)
	}
}

// Whoever else comes to the redirect address changes nothing: it is not the answer to this login.
func TestForgedRedirect(t *testing.T) {
	back := &redirect{state: "s", code: make(chan string, 1), failed: make(chan error, 1)}
	for _, at := range []string{"/callback?code=c", "/callback?code=c&state=x", "/?code=c&state=s",
		"/callback?error=e&state=x"} {
		w := httptest.NewRecorder()
		back.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
		if w.Code != http.StatusBadRequest || len(back.code)+len(back.failed) > 0 {
			t.Errorf("%s: %d", at, w.Code)
		}
	}
	for range 2 {
		back.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/callback?code=c&state=s", nil))
	}
	if len(back.code) != 1 {
		t.Error("the honest one is not taken")
	}
}

func TestArgsAreReadBack(t *testing.T) {
	for _, p := range []Provider{
		{Issuer: "https://a", ClientID: "b", Scopes: defaultScopes()},
		{Issuer: "https://a", ClientID: "b", SecretFile: "/f", CA: "-----BEGIN\n", Scopes: []string{"email"}},
	} {
		got, ok := FromArgs(p.Args())
		if !ok || got.Issuer != p.Issuer || got.ClientID != p.ClientID || got.SecretFile != p.SecretFile ||
			got.CA != p.CA || !slices.Equal(got.Scopes, p.Scopes) {
			t.Errorf("%+v became %+v", p, got)
		}
	}
	for _, args := range [][]string{nil, {"eu/shop"}, {"--issuer=https://a"},
		{"--issuer=https://a", "--client-id=b", "--x=y"}} {
		if p, ok := FromArgs(args); ok {
			t.Errorf("%v is %+v", args, p)
		}
	}
}
