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
				Usage:   "the file, which must not exist (default: NAME.skerry-space); - is standard output",
			},
			QuietFlag(),
		),
		Action: func(c *cli.Context) error {
			name, err := OneArgument(c, "name of the space")
			if err != nil {
				return err
			}
			o := ExportOptions{Kubeconfig: c.String("kubeconfig"), Name: name, File: c.String("output"),
				Progress: NewProgress(c), Out: c.App.Writer}
			if o.File == "-" {
				return exportTo(c.Context, o, c.App.ErrWriter)
			}
			o.File = orElse(o.File, name+".skerry-space")
			return ExportSpace(c.Context, o)
		}}
}

// importCommand is `skerry space import`.
func importCommand() *cli.Command {
	return &cli.Command{Name: "import", Usage: "make a space of an exported one", ArgsUsage: "NAME",
		Flags: ClientFlags(
			&cli.StringFlag{Name: "filename", Aliases: []string{"f"}, Required: true,
				Usage: "the exported space; - is standard input"},
			&cli.BoolFlag{
				Name:  "with-uids",
				Usage: "keep UIDs, ages, generations and field managers; for admins of the center",
			},
			&cli.BoolFlag{
				Name:  "with-status",
				Usage: "keep the statuses of objects; sites that they are placed on will write their own",
			},
			WaitFlag(30*time.Second, "how long to wait until the space is ready"),
			&cli.BoolFlag{Name: "dry-run", Usage: "check the file and say what would be done"},
			QuietFlag(),
		),
		Action: func(c *cli.Context) error {
			name, err := OneArgument(c, "name of the space")
			if err != nil {
				return err
			}
			o := ImportOptions{Kubeconfig: c.String("kubeconfig"), Name: name, File: c.String("filename"),
				UIDs: c.Bool("with-uids"), Status: c.Bool("with-status"), DryRun: c.Bool("dry-run"),
				Wait: c.Duration("wait"), Progress: NewProgress(c), Out: c.App.Writer}
			if o.File == "-" {
				return importFrom(c.Context, o, c.App.Reader)
			}
			return ImportSpace(c.Context, o)
		}}
}
