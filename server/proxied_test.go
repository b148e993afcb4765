package server_test

import (
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// proxied: pods/proxy and services/proxy lead to the Pods of the space that is asked, for those who
// have the right.
func proxied(t *testing.T, c *center, spaces []string) {
	const here = "/api/v1/namespaces/default/"
	ask := func(config *rest.Config, path string) (string, error) {
		answer, err := clients(t, config).CoreV1().RESTClient().Get().AbsPath(path).Param("a", "b").DoRaw(t.Context())
		return string(answer), err
	}
	for _, space := range spaces {
		for _, path := range []string{here + "services/https:hook:/proxy/whose/x/", here + "pods/https:hook-1:443/proxy/whose/x/"} {
			answer, err := ask(c.admin(space), path)
			if want := space + " /whose/x/?a=b"; err != nil || answer != want {
				t.Errorf("%s in %s answers %q, %v, want %q", path, space, answer, err, want)
			}
			nobody := c.admin(space)
			nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
			if _, err := ask(nobody, path); !apierrors.IsForbidden(err) {
				t.Errorf("%s in %s by nobody: %v", path, space, err)
			}
		}
		if _, err := ask(c.admin(space), here+"services/none/proxy/"); !apierrors.IsNotFound(err) {
			t.Errorf("no service in %s: %v", space, err)
		}
		_, err := ask(c.admin(space), here+"services/hook:444/proxy/")
		if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != http.StatusServiceUnavailable {
			t.Errorf("no port in %s: %v", space, err)
		}
	}
}
