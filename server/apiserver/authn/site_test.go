package authn

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	api "k8s.io/kubernetes/pkg/apis/core"
	upstream "k8s.io/kubernetes/pkg/serviceaccount"

	"skerry.dev/skerry/server/apiserver/request"
)

// accounts are ServiceAccounts by name, with their UIDs.
type accounts map[string]types.UID

func (a accounts) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if a[name] == "" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"},
			name) // as the request's
	}
	return &api.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "app", UID: a[name]}}, nil
}

func key(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What is missing is named by what it is, not by what the request is about.
func TestAMissingAccountIsNamed(t *testing.T) {
	tokens, err := NewTokens("https://center:7443", key(t), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	tokens.accounts, tokens.secrets = accounts{}, accounts{}
	ctx := request.WithSpace(t.Context(), "shop")
	_, err = tokens.GetServiceAccount(ctx, "app", "op")
	if want := `serviceaccounts "app/op" not found`; err == nil || err.Error() != want || !apierrors.IsNotFound(err) {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = tokens.GetSecret(ctx, "app", "token")
	if want := `secrets "app/token" not found`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestSiteTokens(t *testing.T) {
	targets, known := map[string]string{"eu": "u-1"}, accounts{"op": "a-1"}
	tokens, err := NewTokens("https://center:7443", key(t), func(name string) string { return targets[name] })
	if err != nil {
		t.Fatal(err)
	}
	tokens.accounts = known
	in := func(space, site string) context.Context {
		ctx := request.WithSpace(context.Background(), space)
		if site != "" {
			ctx = request.WithSite(ctx, site)
		}
		return authenticator.WithAudiences(ctx, authenticator.Audiences{Audience})
	}
	token, expires, err := tokens.IssueForSite(in("shop", ""), "app", "op", "eu/paris")
	if err != nil || expires.IsZero() {
		t.Fatal(err)
	}
	if !tokens.Issued(token) || tokens.Issued(token+"x") || tokens.Issued("nonsense") {
		t.Error("it does not know its own signature")
	}
	people := authenticator.TokenFunc(func(context.Context, string) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "alice"}}, true, nil
	})
	all := newAuthenticator(nil, tokens, people, nil)
	who := func(space, site, token string) string {
		r, err := http.NewRequestWithContext(in(space, site), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, ok, err := all.AuthenticateRequest(r)
		if !ok || err != nil {
			return ""
		}
		return resp.User.GetName()
	}
	const op = "system:serviceaccount:app:op"
	if got := who("shop", "eu/paris", token); got != op {
		t.Fatalf("at its site it is %q", got)
	}
	for _, c := range []struct{ what, space, site, token string }{
		{"another space", "other", "eu/paris", token},
		{"another site below", "shop", "eu/oslo", token},
		{"the site above", "shop", "eu", token},
		{"a site below it", "shop", "eu/paris/x", token},
		{"no token at a site", "shop", "eu/paris", ""},
		{"a person's token at a site", "shop", "eu/paris", "of-a-provider"},
	} {
		if got := who(c.space, c.site, c.token); got != "" {
			t.Errorf("%s: it is %q", c.what, got)
		}
	}
	claims, private, err := upstream.Claims(
		api.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "op", Namespace: "app", UID: "a-1"}},
		nil, nil, nil, nil, nil, 600, 0, []string{Audience}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ordinary, err := tokens.GenerateToken(in("shop", ""), claims, private)
	if err != nil {
		t.Fatal(err)
	}
	if outside, at := who("shop", "", ordinary), who("shop", "eu/paris", ordinary); outside != op || at != "" {
		t.Errorf("a token of no site is %q outside and %q at a site", outside, at)
	}
	if got := who("shop", "", token); got == op {
		t.Error("from outside it is accepted")
	}
	if got := who("shop", "", "of-a-provider"); got != "alice" {
		t.Errorf("a person is %q", got)
	}

	if _, err := tokens.GetNode(in("shop", "eu/oslo"), "eu/paris"); err == nil {
		t.Error("another site is the node of the token")
	}

	targets["eu"] = "u-2"
	if got := who("shop", "eu/paris", token); got != "" {
		t.Errorf("after its target was made anew it is %q", got)
	}
	targets["eu"] = "u-1"
	known["op"] = "a-2"
	if got := who("shop", "eu/paris", token); got != "" {
		t.Errorf("after its account was made anew it is %q", got)
	}
	delete(known, "op")
	if got := who("shop", "eu/paris", token); got != "" {
		t.Errorf("after its account has gone it is %q", got)
	}
	if _, _, err := tokens.IssueForSite(in("shop", ""), "app", "op", "eu/paris"); err == nil {
		t.Error("a token of an account that has gone")
	}
	known["op"] = "a-1"
	if _, _, err := tokens.IssueForSite(in("shop", ""), "app", "op", "rome"); err == nil {
		t.Error("a token for a target that is not there")
	}
	delete(targets, "eu")
	if got := who("shop", "eu/paris", token); got != "" {
		t.Errorf("after its target has gone it is %q", got)
	}
}
