package server_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/store"
)

// Who reads by name an object whose site is silent is warned, in the space of that object alone;
// who lists or writes is not.
func TestStaleObjectsWarn(t *testing.T) {
	const words = "site paris has not been heard of"
	c := start(t, t.TempDir(), newAuthority(t), nil, func(c *apiserver.Config) {
		c.Stale = func(k store.Key) string {
			if k == (store.Key{Space: "root", Resource: "configmaps", Namespace: "default", Name: "web"}) ||
				k.Resource == "namespaces" && k.Namespace == "" {
				return words
			}
			return ""
		}
	})
	told := &warnings{}
	config := c.admin("root")
	config.WarningHandlerWithContext = told
	maps := clients(t, config).CoreV1().ConfigMaps("default")
	for _, name := range []string{"web", "other"} {
		_, err := maps.Create(
			t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{},
		)
		must(t, err)
	}
	_, err := maps.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	_, err = maps.Get(t.Context(), "other", metav1.GetOptions{})
	must(t, err)
	if text := told.take(); text != "" {
		t.Errorf("warned of %q", text)
	}
	_, err = maps.Get(t.Context(), "web", metav1.GetOptions{})
	must(t, err)
	if text := told.take(); !strings.Contains(text, words) {
		t.Errorf("warned of %q", text)
	}
	_, err = clients(t, config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	must(t, err)
	if text := told.take(); !strings.Contains(text, words) {
		t.Errorf("a namespace: warned of %q", text)
	}
}
