package admin

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A kubeconfig that is there and leads nowhere is told of by its file and by what to do.
func TestUnusableKubeconfigs(t *testing.T) {
	home := at(t)
	file := filepath.Join(home, "kubeconfig")
	for name, c := range map[string]struct {
		change func(*clientcmdapi.Config)
		want   string
	}{
		"empty":      {nil, "is empty; name another with --kubeconfig FILE"},
		"no context": {func(c *clientcmdapi.Config) { c.CurrentContext = "" }, "has no current context; choose one with: kubectl"},
		"no such context": {func(c *clientcmdapi.Config) { c.CurrentContext = "nope" },
			`has no context "nope", which is to be its current one; choose another with: kubectl`},
	} {
		if c.change == nil {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			config := oneContext("root", "https://127.0.0.1:1")
			c.change(config)
			write(t, file, config)
		}
		for way, path := range map[string]string{"by the flag": file, "by KUBECONFIG": ""} {
			t.Setenv("KUBECONFIG", file)
			_, err := open(path)
			if !strings.Contains(text(err), c.want) || !strings.Contains(text(err), file) {
				t.Errorf("%s, %s: %v", name, way, err)
			}
			_, _, err = spaceConfig(t.Context(), path, "", "")
			if !strings.Contains(text(err), c.want) {
				t.Errorf("%s, %s, of a space: %v", name, way, err)
			}
		}
	}
}

// A role in a namespace that is not there is refused with the namespace, and how to make it.
func TestGrantInNoNamespace(t *testing.T) {
	_, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,
				"message":"namespaces \"webb\" not found","details":{"kind":"namespaces","name":"webb"}}`)
		case strings.HasSuffix(r.URL.Path, "/spaces/shop"):
			fmt.Fprint(w, `{"kind":"Space","apiVersion":"skerry.dev/v1alpha1","metadata":{"name":"shop"}}`)
		case strings.Contains(r.URL.Path, "clusterrolebindings"):
			fmt.Fprint(w, `{"kind":"ClusterRoleBindingList","apiVersion":"rbac.authorization.k8s.io/v1","items":[]}`)
		default:
			fmt.Fprint(w, `{"kind":"RoleBindingList","apiVersion":"rbac.authorization.k8s.io/v1","items":[]}`)
		}
	}, "space grant shop --user bob --role view -n webb")
	if got := text(Plain(err)); !strings.Contains(got, `no namespace "webb"`) ||
		!strings.Contains(got, "kubectl create namespace webb") {
		t.Errorf("got %s", got)
	}
}

// In the live view of a site, questions about the space are asked of the space: the view itself takes none.
func TestQuestionsFromAViewGoToTheSpace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "view.kubeconfig")
	write(t, file, oneContext("shop@eu/paris", "https://center:7443/clusters/shop/targets/eu/paris"))
	config, _, err := spaceConfig(t.Context(), file, "", "")
	if err != nil || config.Host != "https://center:7443/clusters/shop" {
		t.Errorf("%+v, %v", config, err)
	}
}
