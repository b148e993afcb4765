package verify

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The build for small devices has nothing of a center.
func TestAgentOnlyBuildHasNoCenter(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-tags", "agentonly", ".")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("only %d packages are listed", len(deps))
	}
	for _, dep := range deps {
		for _, prefix := range []string{"k8s.io/apiserver", "k8s.io/kubernetes", "k8s.io/client-go/kubernetes",
			"github.com/k3s-io/kine", module + "/server/admin", module + "/server/apiserver"} {
			if strings.HasPrefix(dep, prefix) {
				t.Errorf("it links %s", dep)
			}
		}
	}
}
