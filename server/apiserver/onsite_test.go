package apiserver

import "testing"

func TestTalk(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/shop/pods/web/log":            "log",
		"/api/v1/namespaces/shop/pods/web/proxy/metrics":  "proxy",
		"/api/v1/namespaces/shop/services/web/proxy/":     "proxy",
		"/api/v1/namespaces/shop/pods/web/status":         "",
		"/api/v1/namespaces/shop/pods/log":                "",
		"/api/v1/namespaces/shop/pods":                    "",
		"/api/v1/namespaces/shop/services/web/log":        "",
		"/apis/apps/v1/namespaces/shop/deployments/a/log": "",
	} {
		if got, ok := talk(path); ok && got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", path, got, ok)
		}
	}
}
