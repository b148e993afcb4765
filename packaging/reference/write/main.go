// Command write writes the pages that need no program to be built: kinds.md and names.md of the
// reference, and what is new. `make generate` runs it, from the top of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/packaging/reference"
)

func main() {
	if err := write(filepath.Join("packaging", "docs")); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func write(docs string) error {
	api := filepath.Join("server", "api", "v1alpha1")
	kinds, err := reference.Kinds(os.DirFS(filepath.Join(api, "crds")))
	if err != nil {
		return err
	}
	names, err := reference.Names(api)
	if err != nil {
		return err
	}
	changes, err := reference.Changes(os.DirFS(filepath.Join("packaging", "changelog", "unreleased")))
	if err != nil {
		return err
	}
	for dir, pages := range map[string]map[string]string{
		"reference": {"kinds.md": kinds, "names.md": names}, "changes": changes,
	} {
		if err := os.MkdirAll(filepath.Join(docs, dir), 0o755); err != nil {
			return err
		}
		for file, text := range pages {
			if err := os.WriteFile(filepath.Join(docs, dir, file), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
