package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestShellsManPages: groff understands every line of the man pages that the built program, SKERRY_BIN, makes.
func TestShellsManPages(t *testing.T) {
	program := os.Getenv("SKERRY_BIN")
	if program == "" {
		t.Skip("SKERRY_BIN names no program: make completion")
	}
	groff, err := exec.LookPath("groff")
	if err != nil && os.Getenv("SKERRY_SHELLS") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), program, "install", "files", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, manDir, "*.1"))
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		out, err := exec.CommandContext(t.Context(), groff, "-Tutf8", "-man", "-ww", "-z", page).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", filepath.Base(page), err, out)
		}
	}
}
