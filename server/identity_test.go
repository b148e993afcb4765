package server_test

import (
	"bufio"
	"crypto/ecdsa"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jose "gopkg.in/go-jose/go-jose.v2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/apiserver/audit"
)

// provider is an OIDC provider.
type provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newProvider(t *testing.T) *provider {
	p := &provider{key: newKey(t)}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			json.NewEncoder(
				w,
			).Encode(
				map[string]any{
					"issuer":                                p.URL,
					"jwks_uri":                              p.URL + "/keys",
					"id_token_signing_alg_values_supported": []string{"ES256"},
				},
			)
		case "/keys":
			json.NewEncoder(
				w,
			).Encode(
				jose.JSONWebKeySet{
					Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}},
				},
			)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) token(t *testing.T, user string, groups ...string) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "k"}}, nil)
	must(t, err)
	now := time.Now()
	out, err := jwt.Signed(
		s,
	).Claims(
		map[string]any{
			"iss":    p.URL,
			"aud":    "skerry-people",
			"sub":    user,
			"groups": groups,
			"exp":    now.Add(time.Hour).Unix(),
			"iat":    now.Unix(),
		},
	).CompactSerialize()
	must(t, err)
	return out
}

func (p *provider) config(t *testing.T) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	path := filepath.Join(t.TempDir(), "authentication.json")
	must(
		t,
		os.WriteFile(
			path,
			fmt.Appendf(nil, `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration",
		"anonymous":{"enabled":true,"conditions":[{"path":"/livez"}]},
		"jwt":[{"issuer":{"url":%q,"audiences":["skerry-people"],"certificateAuthority":%q},
			"claimMappings":{"username":{"claim":"sub","prefix":"oidc:"},"groups":{"claim":"groups","prefix":"oidc:"}}}]}`, p.URL, ca),
			0o600,
		),
	)
	return path
}

// TestIdentity: people of an OIDC provider, impersonation, and the audit log.
func TestIdentity(t *testing.T) {
	p, dir := newProvider(t), t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	must(
		t,
		os.WriteFile(
			policy,
			[]byte(
				"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, users: ['system:skerry:center']}, {level: Metadata}]\n",
			),
			0o600,
		),
	)
	c := start(t, t.TempDir(), newAuthority(t), nil, func(config *apiserver.Config) {
		config.AuthenticationConfig, config.Audit = p.config(
			t,
		), audit.Config{
			PolicyFile: policy,
			LogPath:    log,
			MaxSize:    1,
			MaxBackups: 1,
			MaxAge:     1,
		}
	})
	for _, s := range []string{"team", "team-b"} {
		c.createSpace(s, "Delete")
	}
	t.Run("oidc", func(t *testing.T) { people(t, c, p) })
	t.Run("impersonation", func(t *testing.T) { impersonation(t, c) })
	t.Run("reviews", func(t *testing.T) { reviews(t, c) })
	t.Run("issuers", func(t *testing.T) { issuers(t, c) })
	c.stop()
	t.Run("audit", func(t *testing.T) { audited(t, log) })
}

func bind(t *testing.T, c *center, space, role string, subject rbacv1.Subject) {
	t.Helper()
	_, err := clients(
		t,
		c.admin(space),
	).RbacV1().ClusterRoleBindings().Create(
		t.Context(),
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-"},
			RoleRef: rbacv1.RoleRef{
				APIGroup: rbacv1.GroupName,
				Kind:     "ClusterRole",
				Name:     role,
			}, Subjects: []rbacv1.Subject{subject}},
		metav1.CreateOptions{},
	)
	must(t, err)
}

func people(t *testing.T, c *center, p *provider) {
	ctx := t.Context()
	as := func(space, token string) *kubernetes.Clientset {
		config := rest.AnonymousClientConfig(c.admin(space))
		config.BearerToken = token
		return clients(t, config)
	}
	bind(t, c, "team", "view", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "oidc:devs"})
	alice := p.token(t, "alice", "devs")
	within(t, time.Minute, "the provider's keys are known", func() bool {
		_, err := as("team", alice).CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err == nil
	})
	if _, err := as("team-b", alice).CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(
		err,
	) ||
		!strings.Contains(err.Error(), "oidc:alice") {
		t.Errorf("in another space: %v", err)
	}
	if _, err := as(
		"team",
		p.token(t, "alice"),
	).CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("without the group: %v", err)
	}
	if _, err := as(
		"team",
		newProvider(t).token(t, "alice", "devs"),
	).CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(
		err,
	) {
		t.Errorf("of another provider: %v", err)
	}
	if _, err := as("team", "").Discovery().ServerVersion(); !apierrors.IsUnauthorized(err) {
		t.Errorf("anonymous where the configuration does not allow it: %v", err)
	}
}

// impersonation ends at the border of the space, and makes nobody an admin of the center.
func impersonation(t *testing.T, c *center) {
	ctx := t.Context()
	bind(t, c, "team", "cluster-admin", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "boss"})
	bind(t, c, "team-b", "cluster-admin", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "victim"})
	as := func(space, who string, groups ...string) error {
		config := c.as(space, "boss")
		config.Impersonate = rest.ImpersonationConfig{UserName: who, Groups: groups}
		_, err := clients(
			t,
			config,
		).CoreV1().ConfigMaps(
			"default",
		).Create(
			ctx,
			configMap("x", nil),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}},
		)
		return err
	}
	bind(t, c, "team", "edit", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "friend"})
	within(t, 60*time.Second, "a friend may write", func() bool { return as("team", "friend") == nil })
	for _, x := range []struct {
		space, who string
		groups     []string
	}{
		{"team-b", "victim", nil},
		{"root", "victim", nil},
		{"team-b", "boss", []string{"system:masters"}},
		{"team", "boss", []string{"system:masters"}},
		{"team-b", "system:skerry:center", nil},
		{"team-b", "system:serviceaccount:default:default", nil},
	} {
		if err := as(x.space, x.who, x.groups...); !apierrors.IsForbidden(err) {
			t.Errorf("boss of team as %s %v in %s: %v", x.who, x.groups, x.space, err)
		}
	}
	admin := c.admin("team")
	admin.Impersonate = rest.ImpersonationConfig{UserName: "root", Groups: []string{"system:masters"}}
	_, err := clients(t, admin).CoreV1().Namespaces().Get(ctx, corev1.NamespaceDefault, metav1.GetOptions{})
	check(t, err)
}

// reviews: whoever is shown a token may ask the space of its ServiceAccount, and no other one,
// whose it is.
func reviews(t *testing.T, c *center) {
	ctx := t.Context()
	token := func(audiences ...string) string {
		out, err := clients(t, c.admin("team")).CoreV1().ServiceAccounts("default").CreateToken(
			ctx,
			"robot",
			&authenticationv1.TokenRequest{
				Spec: authenticationv1.TokenRequestSpec{Audiences: audiences},
			},
			metav1.CreateOptions{},
		)
		must(t, err)
		return out.Status.Token
	}
	_, err := clients(
		t,
		c.admin("team"),
	).CoreV1().ServiceAccounts(
		"default",
	).Create(
		ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}},
		metav1.CreateOptions{},
	)
	must(t, err)
	for _, x := range []struct {
		space, token string
		audiences    []string
		want         bool
	}{
		{"team", token(), nil, true},
		{"team-b", token(), nil, false},
		{"root", token(), nil, false},
		{"team", "x" + token(), nil, false},
		{"team", token("vault"), nil, false},
		{"team", token("vault"), []string{"vault"}, true},
		{
			"team",
			token("vault"),
			[]string{"other"},
			false,
		},
	} {
		out, err := clients(t, c.admin(x.space)).AuthenticationV1().TokenReviews().Create(
			ctx,
			&authenticationv1.TokenReview{
				Spec: authenticationv1.TokenReviewSpec{Token: x.token, Audiences: x.audiences},
			},
			metav1.CreateOptions{},
		)
		must(t, err)
		user := ""
		if x.want {
			user = "system:serviceaccount:default:robot"
		}
		if out.Status.Authenticated != x.want || out.Status.User.Username != user {
			t.Errorf("reviewed in %s for %v: %+v", x.space, x.audiences, out.Status)
		}
	}
}

// issuers: a space says who issues its ServiceAccounts' tokens and with which keys they are
// checked, to those alone who may ask.
func issuers(t *testing.T, c *center) {
	ctx, admin := t.Context(), clients(t, c.admin("team"))
	out, err := admin.CoreV1().ServiceAccounts(
		"default",
	).CreateToken(
		ctx,
		"robot",
		&authenticationv1.TokenRequest{},
		metav1.CreateOptions{},
	)
	must(t, err)
	robot := rest.AnonymousClientConfig(c.admin("team"))
	robot.BearerToken = out.Status.Token
	get := func(config *rest.Config, path string, into any) error {
		raw, err := clients(t, config).Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Raw()
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		return err
	}
	var about struct {
		Issuer  string
		JWKSURI string `json:"jwks_uri"`
	}
	must(t, get(robot, "/.well-known/openid-configuration", &about))
	if about.Issuer != "https://center.test/clusters/team" || about.JWKSURI != about.Issuer+"/openid/v1/jwks" {
		t.Errorf("team says %+v", about)
	}
	var keys jose.JSONWebKeySet
	must(t, get(robot, "/openid/v1/jwks", &keys))
	token, err := jwt.ParseSigned(out.Status.Token)
	must(t, err)
	var claims jwt.Claims
	must(t, token.Claims(keys.Key(token.Headers[0].KeyID)[0].Key, &claims))
	if claims.Issuer != about.Issuer || claims.Subject != "system:serviceaccount:default:robot" {
		t.Errorf("the token says %+v", claims)
	}
	must(t, get(c.admin("team-b"), "/.well-known/openid-configuration", &about))
	if about.Issuer != "https://center.test/clusters/team-b" {
		t.Errorf("team-b says %+v", about)
	}
	if err := get(c.as("team", "stranger"), "/openid/v1/jwks", &keys); !apierrors.IsForbidden(err) {
		t.Errorf("a stranger asks for the keys: %v", err)
	}
}

// audited: each line says which space it is about, those of refused requests too.
func audited(t *testing.T, path string) {
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	lines, stages, refused := map[string]int{}, map[string]int{}, 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var e struct {
			Stage, RequestURI string
			Annotations       map[string]string
			ResponseStatus    struct{ Code int }
		}
		must(t, json.Unmarshal(sc.Bytes(), &e))
		space := e.Annotations["skerry.dev/space"]
		if want, ok := strings.CutPrefix(e.RequestURI, "/clusters/"); ok && !strings.HasPrefix(want, space+"/") ||
			!ok && space != "root" {
			t.Errorf("%s is noted as of %q", e.RequestURI, space)
		}
		lines[space]++
		stages[e.Stage]++
		if space == "team-b" && e.ResponseStatus.Code == http.StatusForbidden {
			refused++
		}
	}
	if lines["team"] == 0 || lines["team-b"] == 0 || lines["root"] == 0 || stages["RequestReceived"] == 0 ||
		stages["ResponseComplete"] == 0 ||
		refused == 0 {
		t.Errorf("lines %v, stages %v, %d refused in team-b", lines, stages, refused)
	}
}
