package server_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
)

// documents asks a space for OpenAPI documents of built-in kinds: they are built when the first is
// asked for, and answered in the space's name.
func documents(t *testing.T, c *center) {
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.ca.pool(), Certificates: []tls.Certificate{
			c.ca.issue(t, "admin", "system:masters")}}, DisableKeepAlives: true},
	}
	for range 2 { // built, and kept
		for path, want := range map[string]string{
			"/openapi/v2":                               "io.k8s.api.apps.v1.Deployment",
			"/openapi/v3":                               "/clusters/team/openapi/v3/apis/apps/v1?hash=",
			"/openapi/v3/api/v1?hash=outdated":          "io.k8s.api.core.v1.ConfigMap",
			"/openapi/v3/apis/apps/v1":                  "io.k8s.api.apps.v1.Deployment",
			"/openapi/v3/apis/nothing.example.com/v1/x": "",
		} {
			resp, err := client.Get(c.url + "/clusters/team" + path)
			must(t, err)
			body, err := io.ReadAll(resp.Body)
			must(t, err)
			resp.Body.Close()
			if (resp.StatusCode == http.StatusOK) != (want != "") || !strings.Contains(string(body), want) {
				t.Errorf("%s: %d %.300s", path, resp.StatusCode, body)
			}
		}
	}
}
