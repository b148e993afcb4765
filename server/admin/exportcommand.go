package admin

import (
	"time"

	"github.com/urfave/cli/v2"
)

// exportCommand is `skerry space export`.
func exportCommand() *cli.Command {
	return &cli.Command{Name: "export", Usage: "write all that users have in a space to one file", ArgsUsage: "NAME",
		Flags: ClientFlags(
			&cli.StringFlag{
				Name:    "output",
				Aliases: []string{"o"},
				Usage:   "the file, which must not exist (default: NAME.skerry-space)",
			},
		),
		Action: func(c *cli.Context) error {
			name, err := OneArgument(c, "name of the space")
			if err != nil {
				return err
			}
			return ExportSpace(
				c.Context,
				ExportOptions{
					Kubeconfig: c.String("kubeconfig"),
					Name:       name,
					File:       orElse(c.String("output"), name+".skerry-space"),
					Out:        c.App.Writer,
				},
			)
		}}
}

// importCommand is `skerry space import`.
func importCommand() *cli.Command {
	return &cli.Command{Name: "import", Usage: "make a space of an exported one", ArgsUsage: "NAME",
		Flags: ClientFlags(
			&cli.StringFlag{Name: "filename", Aliases: []string{"f"}, Usage: "the exported space", Required: true},
			&cli.BoolFlag{
				Name:  "with-uids",
				Usage: "keep UIDs, ages, generations and field managers; for admins of the center",
			},
			&cli.BoolFlag{
				Name:  "with-status",
				Usage: "keep the statuses of objects; sites that they are placed on will write their own",
			},
			&cli.DurationFlag{
				Name:  "wait",
				Value: 30 * time.Second,
				Usage: "how long to wait until the space is ready",
			},
			&cli.BoolFlag{Name: "dry-run", Usage: "check the file and say what would be done"},
		),
		Action: func(c *cli.Context) error {
			name, err := OneArgument(c, "name of the space")
			if err != nil {
				return err
			}
			return ImportSpace(
				c.Context,
				ImportOptions{
					Kubeconfig: c.String("kubeconfig"),
					Name:       name,
					File:       c.String("filename"),
					UIDs:       c.Bool("with-uids"),
					Status: c.Bool(
						"with-status",
					),
					DryRun: c.Bool("dry-run"),
					Wait:   c.Duration("wait"),
					Out:    c.App.Writer,
				},
			)
		}}
}
