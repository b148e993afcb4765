package artifact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is compiled once for the product and for clusters: 40 MB of sources, and most of all else imports it.
var shared = []string{
	"modernc.org/sqlite", "modernc.org/libc", "golang.org/x/crypto", "golang.org/x/net", "golang.org/x/sys",
	"golang.org/x/text", "google.golang.org/grpc", "google.golang.org/protobuf", "go.opentelemetry.io/otel",
	"go.opentelemetry.io/otel/trace", "github.com/prometheus/client_golang", "github.com/prometheus/common",
	"github.com/prometheus/procfs",
}

// With -trimpath a package of one version is compiled once, whichever module asks for it. One of another
// version is compiled again, with all that imports it: the first make demo takes minutes more.
func TestModulesShareVersions(t *testing.T) {
	want := versions(t, filepath.Join("..", "..", "go.mod"))
	for _, m := range modules()[:clusterModules] {
		have := versions(t, filepath.Join("..", m.name, "go.mod"))
		for _, path := range shared {
			if v, ok := have[path]; ok && want[path] != "" && v != want[path] {
				t.Errorf("%s has %s %s, and the product %s: cd testenv/%s && go get %s@%[4]s && go mod tidy",
					m.name, path, v, want[path], m.name, path)
			}
		}
	}
	if want["modernc.org/sqlite"] == "" {
		t.Error("go.mod is not understood any more")
	}
}

// versions are those that a go.mod requires.
func versions(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require ")); len(f) > 1 && strings.HasPrefix(f[1], "v") {
			if _, ok := out[f[0]]; !ok { // a replacement stands below
				out[f[0]] = f[1]
			}
		}
	}
	return out
}
