package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/pki"
)

// Config says how a provider runs.
type Config struct {
	Listen string // HOST:PORT
	Dir    string
	Client string        // the only client; it has no secret
	Life   time.Duration // of ID tokens
}

// provider is a running one.
type provider struct {
	Config
	issuer string
	key    *ecdsa.PrivateKey

	mu      sync.Mutex
	grants  map[string]grant // by code or refresh token
	devices map[string]bool  // user codes; whether they are approved
}

// grant is what a code or a refresh token stands for.
type grant struct {
	claims    Claims
	challenge string
	redirect  string
	userCode  string
}

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return err
	}
	authority, err := pki.New(c.Dir, "oidc authority")
	if err != nil {
		return err
	}
	if err := errors.Join(authority.Issue("server", "oidc", nil, host), authority.WriteKey("id")); err != nil {
		return err
	}
	p := &provider{Config: c, issuer: "https://" + c.Listen, grants: map[string]grant{}, devices: map[string]bool{}}
	if p.key, err = readKey(filepath.Join(c.Dir, "id.key")); err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	routes.HandleFunc("GET /keys", p.keys)
	routes.HandleFunc("GET /authorize", p.authorize)
	routes.HandleFunc("POST /device", p.device)
	routes.HandleFunc("GET /approve", p.approve)
	routes.HandleFunc("POST /token", p.token)
	server := &http.Server{Addr: c.Listen, Handler: routes, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Println("provider ready:", p.issuer)
	err = server.ListenAndServeTLS(filepath.Join(c.Dir, "server.crt"), filepath.Join(c.Dir, "server.key"))
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": "refused: " + code})
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": p.issuer, "jwks_uri": p.issuer + "/keys", "token_endpoint": p.issuer + "/token",
		"authorization_endpoint": p.issuer + "/authorize", "device_authorization_endpoint": p.issuer + "/device",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"},
	})
}

func (p *provider) keys(w http.ResponseWriter, _ *http.Request) {
	public, err := p.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	number := base64.RawURLEncoding.EncodeToString
	answer(w, map[string]any{"keys": []map[string]string{{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig",
		"kid": "k", "x": number(public[1:33]), "y": number(public[33:])}}})
}

// user is who logs in now.
func (p *provider) user() (Claims, error) {
	data, err := os.ReadFile(filepath.Join(p.Dir, "user.json"))
	if err != nil {
		return nil, err
	}
	var c Claims
	return c, json.Unmarshal(data, &c)
}

// grantFor keeps a grant under a new secret, which is good for one use.
func (p *provider) grantFor(g grant) string {
	secret := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants[secret] = g
	return secret
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Hostname() != "127.0.0.1" || q.Get("client_id") != p.Client ||
		q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" {
		http.Error(w, "not a request of the client", http.StatusBadRequest)
		return
	}
	claims, err := p.user()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	claims["nonce"] = q.Get("nonce")
	code := p.grantFor(grant{claims: claims, challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri")})
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *provider) device(w http.ResponseWriter, r *http.Request) {
	claims, err := p.user()
	if err != nil || r.FormValue("client_id") != p.Client {
		refuse(w, "invalid_client")
		return
	}
	user := rand.Text()[:8]
	code := p.grantFor(grant{claims: claims, challenge: r.FormValue("code_challenge"), userCode: user})
	p.mu.Lock()
	p.devices[user] = false
	p.mu.Unlock()
	answer(w, map[string]any{"device_code": code, "user_code": user, "verification_uri": p.issuer + "/approve",
		"expires_in": 60, "interval": 1})
}

func (p *provider) approve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.devices[r.FormValue("code")]; !known {
		http.NotFound(w, r)
		return
	}
	p.devices[r.FormValue("code")] = true
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	if id, _, _ := r.BasicAuth(); id != p.Client && r.FormValue("client_id") != p.Client {
		refuse(w, "invalid_client")
		return
	}
	secret := map[string]string{"authorization_code": "code", "refresh_token": "refresh_token",
		"urn:ietf:params:oauth:grant-type:device_code": "device_code"}[r.FormValue("grant_type")]
	p.mu.Lock()
	g, known := p.grants[r.FormValue(secret)]
	if known && g.userCode != "" && !p.devices[g.userCode] {
		p.mu.Unlock()
		refuse(w, "authorization_pending")
		return
	}
	delete(p.grants, r.FormValue(secret))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || secret != "refresh_token" && g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) ||
		g.redirect != r.FormValue("redirect_uri") {
		refuse(w, "invalid_grant")
		return
	}
	p.issue(w, g.claims)
}

// issue answers with an ID token and the next refresh token.
func (p *provider) issue(w http.ResponseWriter, claims Claims) {
	now := time.Now()
	claims["iss"], claims["aud"] = p.issuer, p.Client
	claims["iat"], claims["exp"] = now.Unix(), now.Add(p.Life).Unix()
	id, err := sign(claims, p.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	delete(claims, "nonce")
	answer(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": int(p.Life.Seconds()),
		"id_token": id, "refresh_token": p.grantFor(grant{claims: claims})})
}
