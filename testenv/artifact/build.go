package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// buildFlags are the same wherever this repository compiles Kubernetes: other
// flags would compile all of it a second time.
var buildFlags = []string{"build", "-trimpath", "-buildvcs=false"}

// build compiles the module's programs into a directory.
func (m module) build(ctx context.Context, dir, into string) error {
	for program, pkg := range m.packages {
		args := append(slices.Clone(buildFlags), "-ldflags", m.ldflags, "-o", filepath.Join(into, program), pkg)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOGC=800", "GOMEMLIMIT=3GiB") // as in the Makefile
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, tail(output.String(), 30))
		}
	}
	return nil
}

// key is a hash of everything that the module's programs are made from. go.sum
// stands for the dependencies.
func (m module) key(dir string) (string, error) {
	parts := []string{runtime.Version(), runtime.GOARCH, m.ldflags, strings.Join(buildFlags, " ")}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		parts = append(parts, relative, string(content))
		return err
	})
	parts = append(parts, slices.Sorted(maps.Keys(m.packages))...)
	return hash(parts...), err
}

// hash is a short hash of a list of strings; no two lists share one because
// of where their strings end.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// SourceVariable names the directory of this module's sources.
const SourceVariable = "SKERRY_TESTENV_SOURCE"

// SourceDir finds the sources of the nested modules: $SKERRY_TESTENV_SOURCE, else
// beside or above the running binary, else above the working directory.
func SourceDir() (string, error) {
	if dir := os.Getenv(SourceVariable); dir != "" {
		return dir, nil
	}
	var starts []string
	if self, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(self))
	}
	if here, err := os.Getwd(); err == nil {
		starts = append(starts, here)
	}
	for _, dir := range starts {
		for ; ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{filepath.Join(dir, "testenv"), dir} {
				if _, err := os.Stat(filepath.Join(candidate, "wec", "go.mod")); err == nil {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("the sources of testenv are not above this binary or the working directory: set " +
		SourceVariable + " to their directory")
}
