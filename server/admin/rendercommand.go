package admin

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// RenderCommand is `skerry render`.
func RenderCommand() *cli.Command {
	return &cli.Command{
		Name: "render",
		Usage: "show what a site gets of an object: its variant by the Customizers of the space; as with " +
			"kubectl, RESOURCE/NAME is the same",
		ArgsUsage: "RESOURCE NAME",
		Flags: ClientFlags(
			OutputFlag("yaml or json"),
			&cli.StringFlag{Name: "space", Usage: "of the object (default: that of the kubeconfig)"},
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"},
				Usage: "of the object (default: that of the current context)"},
			&cli.StringFlag{Name: "target", Usage: "the SyncTarget"},
			&cli.StringSliceFlag{Name: "label", Usage: "KEY=VALUE as if the site had it; may be repeated"},
			&cli.StringSliceFlag{Name: "property", Usage: "KEY=VALUE as if the site had it; may be repeated"},
			&cli.BoolFlag{Name: "all-targets", Usage: "a line for each site that has the object"},
			&cli.BoolFlag{Name: "newest",
				Usage: "what the site gets with the newest release of its Placement, where it has an older one"},
			&cli.BoolFlag{Name: "diff", Usage: "only the fields that differ, and which Customizer changes them"},
		),
		Action: func(c *cli.Context) error {
			resource, name, err := objectArgument(c)
			if err != nil {
				return err
			}
			o := RenderOptions{
				Kubeconfig: c.String("kubeconfig"), Space: c.String("space"), Namespace: c.String("namespace"),
				Resource: resource, Name: name, Target: c.String("target"), AllTargets: c.Bool("all-targets"),
				Diff: c.Bool("diff"), Newest: c.Bool("newest"), Output: c.String("output"), Out: c.App.Writer, Err: c.App.ErrWriter,
			}
			if o.Labels, err = pairs("label", c.StringSlice("label")); err != nil {
				return err
			}
			if o.Properties, err = pairs("property", c.StringSlice("property")); err != nil {
				return err
			}
			hypothetical := len(o.Labels)+len(o.Properties) > 0
			switch {
			case o.Output != "" && o.Output != "yaml" && o.Output != "json":
				return Usage("-o %q: use yaml or json", o.Output)
			case o.AllTargets && (o.Target != "" || hypothetical || o.Diff):
				return Usage("--all-targets stands alone: leave out --target, --label, --property and --diff")
			case !o.AllTargets && o.Target == "" && !hypothetical:
				return Usage("which site? give --target NAME, --all-targets, or --label KEY=VALUE")
			}
			return Render(c.Context, o)
		},
	}
}

func pairs(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, Usage("--%s %q: write KEY=VALUE", flag, text)
		}
		out[key] = value
	}
	return out, nil
}
