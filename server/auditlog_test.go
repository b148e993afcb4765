package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"skerry.dev/skerry/server"
)

// TestAuditLogByDefault: who wrote what and who read a Secret is logged, without bodies; other
// reads and the center's own work are not; none turns it off.
func TestAuditLogByDefault(t *testing.T) {
	a := &atRest{t: t, dir: t.TempDir()}
	work := func(s *server.Server, _ *kubernetes.Clientset) {
		config, err := clientcmd.BuildConfigFromFlags("", s.AdminKubeconfig())
		must(t, err)
		c := clients(t, config).CoreV1()
		_, err = c.Secrets(
			"default",
		).Create(
			t.Context(),
			&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"},
				StringData: map[string]string{"a": hidden},
			},
			metav1.CreateOptions{},
		)
		must(t, err)
		_, err = c.Secrets("default").List(t.Context(), metav1.ListOptions{})
		must(t, err)
		_, err = c.ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		must(t, err)
		must(t, c.ConfigMaps("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	a.run(work)
	path := filepath.Join(a.dir, "audit", "audit.log")
	data, err := os.ReadFile(path)
	must(t, err)
	log := string(data)
	for what, want := range map[string]bool{
		`"verb":"create","user":{"username":"skerry-admin"`: true,
		`"verb":"list","user":{"username":"skerry-admin"`:   true,
		`"verb":"deletecollection"`:                         true,
		`"skerry.dev/space":"root"`:                         true,
		hidden:                                              false,
		"system:skerry:center":                              false,
		`"verb":"watch"`:                                    false,
		"RequestReceived":                                   false,
	} {
		if strings.Contains(log, what) != want {
			t.Errorf("%s in the log: %v, want %v", what, !want, want)
		}
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"verb":"list"`) && !strings.Contains(line, `"resource":"secrets"`) {
			t.Errorf("a read: %s", line)
		}
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}

	a = &atRest{t: t, dir: t.TempDir(), more: func(c *server.Config) { c.Audit.LogPath = server.NoAuditLog }}
	a.run(work)
	if _, err := os.Stat(filepath.Join(a.dir, "audit")); err == nil {
		t.Error("a log that was turned off")
	}
}
