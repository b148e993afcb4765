package install

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"
)

// someApp has a flag of each kind that the program's commands have.
func someApp() *cli.App {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "config"}, &cli.StringFlag{Name: "data-dir"}, &cli.StringFlag{Name: "token"},
		&cli.StringFlag{Name: "name", Value: "paris", Usage: strings.Repeat("a long word ", 20)},
		&cli.StringSliceFlag{Name: "parent", Usage: "addresses"},
		&cli.IntFlag{Name: "share", Value: 30, Usage: "percent", EnvVars: []string{"SKERRY_SHARE"}},
		&cli.BoolFlag{Name: "force", Usage: "do it"},
	}
	list := &cli.Command{Name: "list", Flags: []cli.Flag{&cli.StringFlag{Name: "output",
		Aliases: []string{"o"}, Usage: "name, json or yaml"}}}
	use := &cli.Command{Name: "use", ArgsUsage: "NAME", Flags: []cli.Flag{&cli.StringFlag{Name: "at"}}}
	status := &cli.Command{Name: "status", ArgsUsage: "[SITE]", Flags: []cli.Flag{
		&cli.StringFlag{Name: "space"}, &cli.StringFlag{Name: "target"}, &cli.StringFlag{Name: "placement"}}}
	return &cli.App{Name: "skerry", Commands: []*cli.Command{
		{Name: "center", Flags: flags}, {Name: "agent", Flags: flags},
		{Name: "space", Subcommands: []*cli.Command{{Name: "create", ArgsUsage: "NAME"}, list, use}},
		status, {Name: "secret", Hidden: true},
		{Name: "trace", ArgsUsage: "SERVICE", Flags: []cli.Flag{&cli.StringFlag{Name: "from"}, &cli.StringFlag{Name: "space"},
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}}}},
		{Name: "explain", Subcommands: []*cli.Command{{Name: "placement", ArgsUsage: "RESOURCE NAME", Flags: []cli.Flag{
			&cli.StringFlag{Name: "space"}, &cli.StringFlag{Name: "namespace", Aliases: []string{"n"}}}}}},
	}}
}

// TestSampleHasEveryFlag: uncommented, a sample is a file in which each key is a flag at its default.
func TestSampleHasEveryFlag(t *testing.T) {
	sample := Sample(someApp().Command("center"))
	var lines []string
	for line := range strings.Lines(sample) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line), line)
		}
		if key, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(key, " ") {
			lines = append(lines, key)
		}
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict([]byte(strings.Join(lines, "")), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "paris", "parent": []any{}, "share": 30.0, "force": false}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestComplete(t *testing.T) {
	names := func(_ context.Context, kubeconfig, kind string) []string {
		if kubeconfig == "other" {
			return []string{"elsewhere"}
		}
		return map[string][]string{"spaces": {"shop"}, "targets": {"edge", "paris"}, "placements": {"web"},
			"objects///services": {"db"}, "objects///serviceimports": {"stock"}}[kind]
	}
	for words, want := range map[string][]string{
		"":                              {"center", "agent", "space", "status", "trace", "explain"},
		"sp":                            {"space"},
		"space ":                        {"create", "list", "use"},
		"space create ":                 nil,
		"status ":                       {"edge", "paris"},
		"status --space ":               {"shop"},
		"status --space=":               {"--space=shop"},
		"status --space = ":             {"shop"},
		"status --space =":              {"shop"},
		"status --target p":             {"paris"},
		"status --placement ":           {"web"},
		"space list -o ":                {"name", "json", "yaml"},
		"space list -o j":               {"json"},
		"space use ":                    {"shop"},
		"space use --at ":               {"edge", "paris"},
		"space use --kubeconfig other ": {"elsewhere"},
		"space use --kubeconfig=other ": {"elsewhere"},
		"space use --a":                 {"--at"},
		"center --sh":                   {"--share"},
		"trace ":                        {"db", "stock"},
		"trace --from edge s":           {"stock"},
		"nothing of these ":             {"center", "agent", "space", "status", "trace", "explain"},
	} {
		var out bytes.Buffer
		complete(t.Context(), someApp(), strings.Split(words, " "), names, &out)
		if got := strings.Fields(out.String()); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", words, got, want)
		}
	}
}

func TestMergeKeepsTheAdminsLines(t *testing.T) {
	text := "# mine\nlisten: 1.2.3.4:7443\nparent:\n- https://old:7443\n- https://older:7443\n#name: \"\"\nlog-level: debug # why"
	want := "# mine\n#name: \"\"\nlog-level: debug # why\nlisten: 0.0.0.0:7443\nparent:\n- https://new:7443\n"
	got, err := merge(text, map[string]any{"parent": []string{"https://new:7443"}, "listen": "0.0.0.0:7443"})
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if again, _ := merge(got, map[string]any{"parent": []string{"https://new:7443"},
		"listen": "0.0.0.0:7443"}); again != got {
		t.Errorf("the second time changes it:\n%s", again)
	}
	if _, err := merge("listen: [", map[string]any{"name": "a"}); err == nil {
		t.Error("a file that is no YAML is written over")
	}
}

// FuzzMerge: whatever stands in a file, what is merged is YAML with the key as it was set, and with
// every other key as it was; or it is refused.
func FuzzMerge(f *testing.F) {
	f.Add("listen: a\nname: b\n")
	f.Add("listen:\n  - a\n\n  - b\nname: |\n  x\n\n  y\n")
	f.Add("{listen: a, name: b}")
	f.Fuzz(func(t *testing.T, text string) {
		merged, err := merge(text, map[string]any{"listen": "new"})
		if err != nil {
			return
		}
		var before, after map[string]any
		if err := yaml.Unmarshal([]byte(text), &before); err != nil {
			t.Fatalf("no YAML was merged: %v", err)
		}
		if err := yaml.Unmarshal([]byte(merged), &after); err != nil {
			t.Fatalf("%v:\n%s", err, merged)
		}
		if before == nil {
			before = map[string]any{}
		}
		before["listen"] = "new"
		if !reflect.DeepEqual(before, after) {
			t.Errorf("got %v, want %v\n%s", after, before, merged)
		}
	})
}
