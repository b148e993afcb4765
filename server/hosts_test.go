package server_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// byHost: a space at its own host is what it is by path, with the same rights, and no host leads
// out of it.
func byHost(t *testing.T, c *center) {
	admin, alice, nobody := c.connection(
		"admin",
		"system:masters",
	), c.connection(
		"alice",
	), &tls.ConnectionState{
		HandshakeComplete: true,
	}
	for _, x := range []struct {
		who        *tls.ConnectionState
		host, path string
		code       int
		has, hasNo string
	}{
		{admin, "team.spaces.test", "/apis/apps/v1/namespaces/default/deployments/web", 200, "image-team", "image-team-b"},
		{admin, "team-b.spaces.test:7443", "/apis/apps/v1/namespaces/default/deployments/web", 200, "image-team-b", ""},
		{
			admin,
			"team.spaces.test",
			"/clusters/team/apis/apps/v1/namespaces/default/deployments/web",
			200,
			"image-team",
			"image-team-b",
		},
		{
			admin,
			"team.spaces.test",
			"/clusters/team-b/apis/apps/v1/namespaces/default/deployments/web",
			400,
			"name one space",
			"image",
		},
		{admin, "team.spaces.test", "/openapi/v3", 200, "/clusters/team/openapi/v3/apis/example.com/v1", "team-b"},
		{admin, "team.spaces.test", "/clusters/team/openapi/v3/apis/example.com/v1", 200, "Widget", ""},
		{admin, "center.test", "/api/v1/namespaces", 200, "default", ""},
		{admin, "nope.spaces.test", "/api", 404, "there is no space", ""},
		{admin, "*.spaces.test", "/api", 403, "no request can be for all spaces", ""},
		{alice, "team.spaces.test", "/apis/apps/v1/namespaces/default/deployments/web", 200, "image-team", ""},
		{alice, "team-b.spaces.test", "/apis/apps/v1/namespaces/default/deployments/web", 403, "", "image"},
		{alice, "team-b.spaces.test", "/apis", 403, "", "example.com"},
		{nobody, "team.spaces.test", "/api/v1/secrets", 403, "", ""},
		{nobody, "team.spaces.test", "/readyz", 200, "ok", ""},
		{nobody, "team.spaces.test", "/enroll/v1", 403, "", ""}, // a route of the center, not of a space
		{nobody, "center.test", "/enroll/v1", http.StatusTeapot, "", ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "https://"+x.host+x.path, nil)
		r.TLS = x.who
		w := httptest.NewRecorder()
		c.api.Handler().ServeHTTP(w, r)
		if body := w.Body.String(); w.Code != x.code || !strings.Contains(body, x.has) ||
			x.hasNo != "" && strings.Contains(body, x.hasNo) {
			t.Errorf("%s%s: %d %.300s", x.host, x.path, w.Code, body)
		}
	}
}
