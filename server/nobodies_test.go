package server_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
)

// nobodies ask for a space that exists and for one that does not: who is nobody in the first cannot
// tell them apart.
func nobodies(t *testing.T, c *center) {
	client := func(certs ...tls.Certificate) *http.Client {
		return &http.Client{
			Transport: &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: c.ca.pool(), Certificates: certs},
				DisableKeepAlives: true,
			},
		}
	}
	token := "Bearer " + strings.Repeat("x.", 3)
	for who, x := range map[string]struct {
		client *http.Client
		token  string
	}{
		"somebody of the center": {client(c.ca.issue(t, "mallory", "elsewhere")), ""},
		"nobody":                 {client(), ""},
		"a forged token":         {client(), token},
	} {
		for _, q := range []struct{ method, path, body string }{
			{"GET", "/api", ""}, {"GET", "/apis", ""}, {
				"GET",
				"/version",
				"",
			}, {"GET", "/healthz", ""}, {"GET", "/metrics", ""}, {"GET", "/openapi/v2", ""}, {"GET", "/nothing", ""},
			{"GET", "/.well-known/openid-configuration", ""},
			{"GET", "/api/v1/namespaces/default/configmaps", ""}, {
				"GET",
				"/api/v1/namespaces/default/configmaps?watch=true",
				"",
			},
			{"GET", "/apis/example.com/v2/namespaces/default/widgets", ""}, {"GET", "/apis/skerry.dev/v1alpha1/placements", ""},
			{
				"GET",
				"/apis/apps/v1/namespaces/default/deployments/web",
				"",
			}, {"GET", "/api/v1/namespaces/default/pods/web/log", ""},
			{"DELETE", "/api/v1/namespaces/default", ""}, {"OPTIONS", "/api/v1/namespaces", ""},
			{"POST", "/api/v1/namespaces/default/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`},
			{
				"POST",
				"/apis/authentication.k8s.io/v1/selfsubjectreviews",
				`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`,
			},
			{
				"POST",
				"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
				`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}`,
			},
		} {
			var answers []string
			for _, space := range []string{"team", "nope"} {
				r, err := http.NewRequestWithContext(
					t.Context(),
					q.method,
					c.url+"/clusters/"+space+q.path,
					strings.NewReader(q.body),
				)
				must(t, err)
				r.Header.Set("Content-Type", "application/json")
				if x.token != "" {
					r.Header.Set("Authorization", x.token)
				}
				resp, err := x.client.Do(r)
				must(t, err)
				body, err := io.ReadAll(resp.Body)
				must(t, err)
				resp.Body.Close()
				for _, differs := range []string{"Date", "Audit-Id"} {
					resp.Header.Del(differs)
				}
				var all bytes.Buffer
				must(t, resp.Header.Write(&all))
				if strings.Contains(string(body), `"creationTimestamp":"`) {
					body, _, _ = bytes.Cut(body, []byte(`"creationTimestamp":"`)) // of a review is the moment
				}
				answers = append(answers, resp.Status+"\n"+all.String()+string(body))
			}
			if answers[0] != answers[1] {
				t.Errorf(
					"%s, %s %s:\n%s\n--- and of a space that does not exist:\n%s",
					who,
					q.method,
					q.path,
					answers[0],
					answers[1],
				)
			}
		}
	}
}
