package verify

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "skerry.dev/skerry"

// pkg is what `go list -json` tells of a package.
type pkg struct {
	ImportPath, Doc                    string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
}

// path is the package's path below the module: "" for main, "tunnel/wire".
func (p pkg) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

var packages = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,GoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all []pkg
	for d := json.NewDecoder(out); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, cmd.Wait()
})

func eachPackage(t *testing.T, check func(t *testing.T, p pkg)) {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	if len(all) < 8 {
		t.Fatalf("go list found only %d packages: the test does not see the repository", len(all))
	}
	for _, p := range all {
		check(t, p)
	}
}

func TestTopLevelIsTheArchitecture(t *testing.T) {
	allowed := map[string]bool{}
	for _, name := range strings.Fields(`main.go server agent store tunnel packaging testenv go.mod go.sum Makefile Dockerfile
		README.md CONTRIBUTING.md LICENSE bin dist .golangci.yml .ci .git .gitignore .dockerignore`) {
		allowed[name] = true
	}
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !allowed[e.Name()] {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}
