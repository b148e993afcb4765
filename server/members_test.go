package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// strangers: by a certificate of the center alone somebody is nobody in a space, also where the
// space gives rights to all who are authenticated.
func strangers(t *testing.T, c *center) {
	ctx := t.Context()
	code := func(config *rest.Config, path string) int {
		var status int
		clients(t, config).Discovery().RESTClient().Get().AbsPath(path).Do(ctx).StatusCode(&status)
		return status
	}
	closed := []string{
		"/api",
		"/api/v1",
		"/apis",
		"/apis/apps/v1",
		"/apis/skerry.dev/v1alpha1",
		"/apis/example.com/v2",
		"/openapi/v2",
		"/openapi/v3",
		"/openapi/v3/apis/example.com/v2",
		"/.well-known/openid-configuration",
	}
	admin := clients(t, c.admin("team-b"))
	_, err := admin.RbacV1().ClusterRoleBindings().Create(
		ctx,
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "everybody-views"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			Subjects: []rbacv1.Subject{
				{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:authenticated"},
			}},
		metav1.CreateOptions{},
	)
	must(t, err)
	token, err := admin.CoreV1().ServiceAccounts(
		"default",
	).CreateToken(
		ctx,
		"default",
		&authenticationv1.TokenRequest{},
		metav1.CreateOptions{},
	)
	if apierrors.IsNotFound(err) { // no controller makes it here
		_, err = admin.CoreV1().ServiceAccounts(
			"default",
		).Create(
			ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			metav1.CreateOptions{},
		)
		must(t, err)
		token, err = admin.CoreV1().ServiceAccounts(
			"default",
		).CreateToken(
			ctx,
			"default",
			&authenticationv1.TokenRequest{},
			metav1.CreateOptions{},
		)
	}
	must(t, err)
	bot := c.admin("team-b")
	bot.CertData, bot.KeyData, bot.BearerToken = nil, nil, token.Status.Token
	within(t, 60*time.Second, "the space's own account is everybody", func() bool {
		_, err := clients(t, bot).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err == nil
	})
	for _, space := range []string{"team-b", "root"} { // alice has rights in team
		alice := c.as(space, "alice", "people")
		for _, path := range closed {
			if got := code(alice, path); got != http.StatusForbidden {
				t.Errorf("alice, who is not in %s, gets %s: %d", space, path, got)
			}
		}
		if got := code(alice, "/version"); got != http.StatusOK { // as nobody does
			t.Errorf("alice gets the version of %s: %d", space, got)
		}
		self, err := clients(
			t,
			alice,
		).AuthenticationV1().SelfSubjectReviews().Create(
			ctx,
			&authenticationv1.SelfSubjectReview{},
			metav1.CreateOptions{},
		)
		if err != nil || self.Status.UserInfo.Username != "alice" {
			t.Errorf("alice asks %s who she is: %v", space, err)
		}
		_, err = clients(t, alice).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		if !apierrors.IsForbidden(err) ||
			!strings.Contains(err.Error(), "no role binding of this space names this user") && space == "team-b" {
			t.Errorf("alice lists what everybody in %s may: %v", space, err)
		}
	}
	if got := code(c.as("team", "alice"), "/openapi/v2"); got != http.StatusOK {
		t.Errorf("alice in her own space: %d", got)
	}
	// A binding in one namespace, of a group, is enough to be somebody.
	_, err = admin.RbacV1().RoleBindings(
		"default",
	).Create(
		ctx,
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "people"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects: []rbacv1.Subject{
				{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "people"},
			}},
		metav1.CreateOptions{},
	)
	must(t, err)
	within(
		t,
		60*time.Second,
		"a group that a binding names is known",
		func() bool { return code(c.as("team-b", "alice", "people"), "/openapi/v3") == http.StatusOK },
	)
	_, err = clients(
		t,
		c.as("team-b", "alice", "people"),
	).CoreV1().ConfigMaps(
		"kube-system",
	).List(
		ctx,
		metav1.ListOptions{},
	)
	check(t, err)
	if got := code(c.as("team-b", "bob"), "/api"); got != http.StatusForbidden {
		t.Errorf("bob, whom nothing names: %d", got)
	}
	must(t, admin.RbacV1().ClusterRoleBindings().Delete(ctx, "everybody-views", metav1.DeleteOptions{}))
	must(t, admin.RbacV1().RoleBindings("default").Delete(ctx, "people", metav1.DeleteOptions{}))
	within(
		t,
		60*time.Second,
		"who is named no more is nobody again",
		func() bool { return code(c.as("team-b", "alice", "people"), "/api") == http.StatusForbidden },
	)
}

// climbingNames: names that mean a place in a path are refused as wrong, and no answer shows where
// things are stored.
func climbingNames(t *testing.T, c *center) {
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodPost} {
		for _, path := range []string{
			"/api/v1/namespaces/default/configmaps/..",
			"/api/v1/namespaces/../configmaps",
			"/api/v1/namespaces/./configmaps",
			"/api/v1/namespaces/../configmaps/web",
			"/api/v1/namespaces/./configmaps/.",
			"/api/v1/namespaces/..",
			"/api/v1/namespaces/./finalize",
			"/apis/apps/v1/namespaces/../deployments/web/scale",
			"/api/v1/namespaces/../serviceaccounts/bot/token",
			"/apis/example.com/v1/namespaces/../widgets/web",
			"/apis/example.com/v1/namespaces/default/widgets/..",
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/..",
			"/apis/skerry.dev/v1alpha1/placements/..",
			"/api/v1/namespaces/../events/x",
			"/api/v1/watch/namespaces/../configmaps",
		} {
			body := `{"metadata":{}}`
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			r := httptest.NewRequestWithContext(ctx, method, "/x", strings.NewReader(body))
			r.URL = &url.URL{Path: "/clusters/team" + path}
			r.Header.Set("Content-Type", map[string]string{http.MethodPatch: "application/merge-patch+json"}[method])
			if method != http.MethodPatch {
				r.Header.Set("Content-Type", "application/json")
			}
			r.TLS = c.connection("admin", "system:masters")
			w := httptest.NewRecorder()
			c.api.Handler().ServeHTTP(w, r)
			cancel()
			if w.Code < 400 || w.Code >= 500 || strings.Contains(w.Body.String(), "/registry") ||
				strings.Contains(w.Body.String(), "/team/") {
				t.Errorf("%s %s: %d %.300s", method, path, w.Code, w.Body)
			}
		}
	}
	_, err := clients(
		t,
		c.admin("team"),
	).CoreV1().ConfigMaps(
		"default",
	).Create(
		t.Context(),
		configMap("preconditions", nil),
		metav1.CreateOptions{},
	)
	must(t, err)
	stale := configMap("preconditions", nil)
	stale.UID = "another"
	_, err = clients(
		t,
		c.admin("team"),
	).CoreV1().ConfigMaps(
		"default",
	).Update(
		t.Context(),
		stale,
		metav1.UpdateOptions{},
	)
	if !apierrors.IsConflict(err) || strings.Contains(err.Error(), "team") ||
		strings.Contains(err.Error(), "/registry") {
		t.Errorf("another UID: %v", err)
	}
}
