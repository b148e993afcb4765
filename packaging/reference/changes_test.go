package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestChanges(t *testing.T) {
	change := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	pages, err := Changes(fstest.MapFS{
		"relays/b.md": change("- Two\n  lines.\n- And more.\n"), "relays/a.md": change("Plain\n[text](../../../docs/how-to/a.md).\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "# Relays\n\n" + generated + "\n- Plain\n  [text](../how-to/a.md).\n- Two\n  lines.\n- And more.\n"
	if pages["relays.md"] != want {
		t.Errorf("a page is\n%s", pages["relays.md"])
	}
	if !strings.Contains(pages["README.md"], "| [Relays](relays.md) | centers between a center and its sites | 2 |\n") {
		t.Errorf("the index is\n%s", pages["README.md"])
	}
	for name, fs := range map[string]fstest.MapFS{
		"a file beside the areas": {"a.md": change("x")}, "another area": {"nowhere/a.md": change("x")},
	} {
		if _, err := Changes(fs); err == nil || !strings.Contains(err.Error(), "relays") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChangesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "packaging")
	pages, err := Changes(os.DirFS(filepath.Join(root, "changelog", "unreleased")))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range pages {
		got, err := os.ReadFile(filepath.Join(root, "docs", "changes", file))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the changelog says: make generate", file)
		}
	}
}
