// Command write writes the pages of the reference that need no program to be built: kinds.md and
// names.md. `make generate` runs it, from the top of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/packaging/reference"
)

func main() {
	if err := write(filepath.Join("packaging", "docs", "reference")); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	api := filepath.Join("server", "api", "v1alpha1")
	kinds, err := reference.Kinds(os.DirFS(filepath.Join(api, "crds")))
	if err != nil {
		return err
	}
	names, err := reference.Names(api)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{"kinds.md": kinds, "names.md": names} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
