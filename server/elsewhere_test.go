package server_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver"
)

// Who lists Pods is told of those that are not in the space; who lists anything else, or reads one, is
// not.
func TestPodsElsewhereWarn(t *testing.T) {
	const words = "the Pods of deployments/web are not shown here"
	c := start(t, t.TempDir(), newAuthority(t), nil, func(c *apiserver.Config) {
		c.Elsewhere = func(space, namespace string) string {
			if space == "root" && (namespace == "default" || namespace == "") {
				return words
			}
			return ""
		}
	})
	told := &warnings{}
	config := c.admin("root")
	config.WarningHandlerWithContext = told
	api := clients(t, config).CoreV1()
	for namespace, want := range map[string]bool{"default": true, "": true, "other": false} {
		_, err := api.Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		must(t, err)
		if text := told.take(); strings.Contains(text, words) != want {
			t.Errorf("namespace %q: warned of %q", namespace, text)
		}
	}
	_, err := api.ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	_, _ = api.Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
	if text := told.take(); text != "" {
		t.Errorf("warned of %q", text)
	}
}
