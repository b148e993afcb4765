package reference

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// There is a page for each command that people see, with all that a man page has.
func TestMan(t *testing.T) {
	app := someApp()
	app.Commands[1].Description = ".Begins as a macro, has \\ and 'quotes'."
	pages := Man(app)
	if names := slices.Sorted(maps.Keys(pages)); !slices.Equal(names, []string{"skerry", "skerry-space", "skerry-space-create"}) {
		t.Errorf("pages %v", names)
	}
	page := pages["skerry-space-create"]
	for _, want := range []string{
		".SH \"NAME\"\nskerry\\-space\\-create \\- make <one>\n", ".SH \"SYNOPSIS\"\nskerry space create [OPTIONS] NAME\n",
		".B \"\\-\\-output, \\-o VALUE\"\nA|b. Default: a. Variable: O.\n", ".nf\nskerry space create shop\n.fi\n",
		".SH \"FILES\"\n", ".B \"KUBECONFIG\"\n", ".SH \"EXIT STATUS\"\n.TP\n.B \"0\"\nSuccess.\n",
		"skerry(1), skerry\\-space(1), ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if page := pages["skerry-space"]; !strings.Contains(page, "\n\\&.Begins as a macro, has \\e and") ||
		!strings.Contains(page, ".B \"create NAME\"\nMake <one>.\n") {
		t.Errorf("the page of a group:\n%s", page)
	}
}

// Readers of man pages understand every line. SKERRY_SHELLS=1 refuses a machine that lacks groff, and make completion
// sets it. It reads the pages of the built program, too (packaging/install).
func TestManIsUnderstood(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil && os.Getenv("SKERRY_SHELLS") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("groff is not installed")
	}
	for name, page := range Man(&cli.App{Name: "skerry", Commands: someApp().Commands}) {
		c := exec.CommandContext(t.Context(), groff, "-Tutf8", "-man", "-ww", "-z")
		c.Stdin = strings.NewReader(page)
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// The exit codes of the man pages are those of the page.
func TestExits(t *testing.T) {
	rows := strings.Count(readPage(t, "exit-codes.md"), "\n| ") - 1 // without the head
	if rows != len(exits) {
		t.Errorf("the page has %d codes, the man pages %d", rows, len(exits))
	}
}
