package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/store/storetest"
)

// attacker is somebody with rights in one space who wants more.
type attacker struct {
	t     *testing.T
	c     *center
	h     http.Handler
	who   identity
	space string
}

// attackers makes a space with two of them: eve has all rights in it, mallory may edit in one of its
// namespaces.
func attackers(t *testing.T, c *center, space string) (eve, mallory *attacker) {
	t.Helper()
	c.createSpace(space, "Retain")
	ctx, api := t.Context(), clients(t, c.admin(space))
	_, err := api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "eve"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "eve"}},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = api.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "mallory"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mallory"}},
	}, metav1.CreateOptions{})
	must(t, err)
	h := c.api.Handler()
	eve = &attacker{t, c, h, identity{name: "eve", tls: c.connection("eve")}, space}
	mallory = &attacker{t, c, h, identity{name: "mallory", tls: c.connection("mallory")}, space}
	storetest.Eventually(t, "both have their rights", func() bool { // which the center reads by a watch
		all, _ := eve.do("GET", "/api/v1/namespaces", "")
		some, _ := mallory.do("GET", "/api/v1/namespaces/default/configmaps", "")
		return all == http.StatusOK && some == http.StatusOK
	})
	return eve, mallory
}

// do sends a request to the space, and returns its code and the beginning of the answer. A content
// type stands before the body, with a space behind it, where it is not JSON.
func (a *attacker) do(method, path, body string) (int, string) {
	a.t.Helper()
	kind := "application/json"
	if strings.HasPrefix(body, "application/") {
		kind, body, _ = strings.Cut(body, " ")
	}
	r := httptest.NewRequest(method, "https://center.test/clusters/"+a.space+path, strings.NewReader(body))
	r.TLS = a.who.tls
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	began := time.Now()
	a.h.ServeHTTP(w, r)
	if took := time.Since(began); took > 5*time.Second {
		a.t.Errorf("%s %s took %v", method, path, took)
	}
	answer, _ := io.ReadAll(io.LimitReader(w.Body, 1<<20))
	return w.Code, string(answer)
}
