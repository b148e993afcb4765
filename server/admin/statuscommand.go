package admin

import (
	"github.com/urfave/cli/v2"
)

// StatusCommand is `skerry status`.
func StatusCommand() *cli.Command {
	return &cli.Command{
		Name: "status",
		Usage: "show the sites, what is behind and since when; " +
			"SITE shows one of them as a whole",
		ArgsUsage: "[SITE]",
		Flags: ClientFlags(ListFlag(), SelectorFlag(),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"},
				Usage: "go on: draw it anew at each change, or write a line for each change " +
					"where it is no terminal"},
			&cli.BoolFlag{Name: "tree", Usage: "the center, its relays and the sites below them"},
			&cli.BoolFlag{Name: "problems",
				Usage: "only what is wrong, with its cause and what to do; exits with 4 if there " +
					"is anything"},
			&cli.BoolFlag{Name: "moves",
				Usage: "what moves between sites, and what has moved within the last hour"},
			&cli.StringFlag{Name: "space", Usage: "with --moves: of this space alone"}),
		Action: func(c *cli.Context) error {
			o := StatusOptions{ListOptions: listOptions(c), Err: c.App.ErrWriter,
				Site:  c.Args().First(),
				Space: c.String("space"), Watch: c.Bool("watch")}
			for _, v := range []View{TreeView, ProblemView, MoveView} {
				if !c.Bool(string(v)) {
					continue
				}
				if o.View != "" {
					return Usage("--%s and --%s: give one of them; see: skerry status --help",
						o.View, v)
				}
				o.View = v
			}
			return Status(c.Context, o)
		},
	}
}

func listOptions(c *cli.Context) ListOptions {
	return ListOptions{Kubeconfig: c.String("kubeconfig"), Output: c.String("output"),
		Selector: c.String("selector"), Out: c.App.Writer}
}
