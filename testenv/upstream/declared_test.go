package upstream

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T, list string) (*Declared, error) {
	path := filepath.Join(t.TempDir(), "list.yaml")
	if err := os.WriteFile(path, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

const list = "run: [a, b c]\nwithSite: [s]\nexcluded: [{reason: it needs a node, tests: [d]}]\n"

func TestDeclared(t *testing.T) {
	d, err := load(t, list)
	if err != nil {
		t.Fatal(err)
	}
	if got := chosen(d.Run, regexp.MustCompile("^b")); !slices.Equal(got, []string{"b c"}) {
		t.Errorf("chosen: %q", got)
	}
	for _, x := range []struct{ existing, want string }{{"a,b c,d,s", ""},
		{"a,b c,d,s,e", `"e" is a test of upstream that is not declared`},
		{"a,d,s", `"b c" is declared but is no test of upstream`}} {
		got := ""
		if err := d.Check(strings.Split(x.existing, ",")); err != nil {
			got = err.Error()
		}
		if got != x.want {
			t.Errorf("upstream has %s: %q, want %q", x.existing, got, x.want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for why, text := range map[string]string{
		"listed twice":     strings.Replace(list, "[s]", "[d]", 1),
		"without a reason": strings.Replace(list, "it needs a node", "", 1),
		"unknown field":    list + "more: []\n",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// TestLists: what the repository declares can be read, and is of more than a handful.
func TestLists(t *testing.T) {
	for name, least := range map[string]int{"specs.yaml": 100, "kubectl.yaml": 50} {
		d, err := Load(filepath.Join("..", "conformance", name))
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Run) < least || d.Left() == 0 {
			t.Errorf("%s declares %d tests and excludes %d", name, len(d.Run), d.Left())
		}
	}
}
