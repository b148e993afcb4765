package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// A kubeconfig of a workload cluster is refused in words by every command, and nothing is written there.
func TestKubeconfigOfACluster(t *testing.T) {
	version := "v1.36.3+k3s1"
	serve := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/secrets") {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		if r.URL.Path != "/version" {
			http.NotFound(w, r) // as an API server says that it does not serve a group
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"gitVersion":%q}`, version)
	}
	lines := []string{"status", "space create shop", "space list", "space delete shop --yes", "space users shop",
		"target cordon paris", "target rename paris lyon", "target remove paris", "rebalance --dry-run"}
	for _, line := range lines {
		_, err := command(t, serve, line)
		var other *notCenter
		if !errors.As(err, &other) || !strings.Contains(Plain(err).Error(), "is no Skerry center; give --kubeconfig") {
			t.Errorf("skerry %s: %v", line, err)
		}
	}
	at := httptest.NewServer(http.HandlerFunc(serve))
	defer at.Close()
	var other *notCenter
	if err := CheckCenter(t.Context(), &rest.Config{Host: at.URL}); !errors.As(err, &other) {
		t.Errorf("a cluster passes as a center: %v", err)
	}
	version = "v1.36.3" + centerVersion
	if err := CheckCenter(t.Context(), &rest.Config{Host: at.URL}); err != nil {
		t.Errorf("a center: %v", err)
	}
	space := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"gitVersion":"v1.37.2","skerry":true}`)
	}))
	defer space.Close()
	if err := CheckCenter(t.Context(), &rest.Config{Host: space.URL}); err != nil {
		t.Errorf("a space by its own host's name: %v", err)
	}
	if _, err := command(t, serve, "target cordon paris"); errors.As(err, &other) { // it is still starting
		t.Errorf("a center that does not serve its groups yet: %v", err)
	}
}
