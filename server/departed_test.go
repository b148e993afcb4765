package server_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/store"
)

// Who asks for a Pod that has gone from the space is told where it is, whatever is asked of it. The
// answer stays a 404 by code and reason, and a name of which nothing is known has the usual words.
func TestDepartedPodsAreTold(t *testing.T) {
	const words = "it was at paris, of deployments/web, which is now at oslo with web-2"
	c := start(t, t.TempDir(), newAuthority(t), nil, func(c *apiserver.Config) {
		c.Sites = &askedSites{}
		c.Departed = func(pod store.Key) string {
			if pod == (store.Key{Space: "root", Resource: "pods", Namespace: "default", Name: "web-1"}) {
				return words
			}
			return ""
		}
	})
	pods := clients(t, c.admin("root")).CoreV1().Pods("default")
	for name, told := range map[string]bool{"web-1": true, "web-0": false} {
		_, get := pods.Get(t.Context(), name, metav1.GetOptions{})
		log := pods.GetLogs(name, &corev1.PodLogOptions{}).Do(t.Context()).Error()
		for what, err := range map[string]error{"get": get, "log": log,
			"delete": pods.Delete(t.Context(), name, metav1.DeleteOptions{})} {
			if !apierrors.IsNotFound(err) || strings.Contains(err.Error(), words) != told ||
				!strings.Contains(err.Error(), `pods "`+name+`" not found`) {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
		why := runs(t, c.admin("root"), "GET", name)
		if strings.Contains(why, words) != told {
			t.Errorf("exec %s: %s", name, why)
		}
	}
}
