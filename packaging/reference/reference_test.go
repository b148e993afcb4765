package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestPagesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	kinds, err := Kinds(os.DirFS(filepath.Join(root, "server", "api", "v1alpha1", "crds")))
	if err != nil {
		t.Fatal(err)
	}
	names, err := Names(filepath.Join(root, "server", "api", "v1alpha1"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"kinds.md": kinds, "names.md": names} {
		got, err := os.ReadFile(filepath.Join(root, "packaging", "docs", "reference", file))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the code says: make generate", file)
		}
	}
}

func TestNamesAreDocumented(t *testing.T) {
	all, err := constants(filepath.Join("..", "..", "server", "api", "v1alpha1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		for _, section := range nameKinds {
			if strings.HasPrefix(c.name, section.prefix) && c.comment == "" {
				t.Errorf("%s has no comment", c.name)
			}
		}
	}
}

func someApp() *cli.App {
	return &cli.App{Name: "skerry", Commands: []*cli.Command{
		{Name: "secret", Hidden: true},
		{Name: "space", Usage: "spaces", Subcommands: []*cli.Command{{
			Name: "create", Usage: "make <one>", ArgsUsage: "NAME",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "a|b", Value: "a", EnvVars: []string{"O"}},
				&cli.BoolFlag{Name: "quiet", Hidden: true},
			},
		}}},
	}}
}

func TestCLI(t *testing.T) {
	page := CLI(someApp())
	for _, want := range []string{
		"\n## skerry space create NAME\n\nMake &lt;one&gt;.\n\n```\nskerry space create shop\n",
		"| `--output`, `-o` | A\\|b. Default: `a`. `O` |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	for _, hidden := range []string{"secret", "quiet"} {
		if strings.Contains(page, hidden) {
			t.Errorf("%s is hidden, and in\n%s", hidden, page)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
