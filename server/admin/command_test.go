package admin

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
)

func TestFlagsFirst(t *testing.T) {
	app := &cli.App{Commands: []*cli.Command{SpaceCommand(), StatusCommand(), RenderCommand()}}
	for in, want := range map[string]string{
		"skerry space create shop --wait 1m":          "skerry space create --wait 1m shop",
		"skerry space create --dry-run shop":          "skerry space create --dry-run shop",
		"skerry space create shop --dry-run -o json":  "skerry space create --dry-run -o json shop",
		"skerry space create shop --timeout 1m":       "skerry space create --timeout 1m shop",
		"skerry space create shop --dry-run=server":   "skerry space create --dry-run shop",
		"skerry space create shop --dry-run=client":   "skerry space create --dry-run shop",
		"skerry space create shop --dry-run=none":     "skerry space create --dry-run=false shop",
		"skerry render deployment web --target a":     "skerry render --target a deployment web",
		"skerry space create shop --help":             "skerry space create --help",
		"skerry space create shop -h --wait 1m":       "skerry space create --help",
		"skerry space --help":                         "skerry space --help",
		"skerry space create shop --wait=1m":          "skerry space create --wait=1m shop",
		"skerry space create -- --odd":                "skerry space create -- --odd",
		"skerry status -o json":                       "skerry status -o json",
		"skerry space use a b --kubeconfig":           "skerry space use a b --kubeconfig",
		"skerry nonsense x --y":                       "skerry --y nonsense x",
		"skerry":                                      "skerry",
		"skerry space kubeconfig shop --kubeconfig f": "skerry space kubeconfig --kubeconfig f shop",
	} {
		if got := commandline.FlagsFirst(app, strings.Fields(in)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s\n got %q\nwant %q", in, got, want)
		}
	}
}
