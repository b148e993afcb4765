package backup

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// Commands are `skerry center backup` and `skerry center restore`. Usage makes the error of a
// command line that cannot be meant so.
func Commands(version string, database Database, usage func(format string, args ...any) error) []*cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{
			Name:    "data-dir",
			Value:   "/var/lib/skerry",
			Usage:   "directory of the center",
			EnvVars: []string{"SKERRY_DATA_DIR"},
		},
	}
	outside := []cli.Flag{
		&cli.StringFlag{
			Name:  "encryption-key-file",
			Usage: "the key file of the center, for a backup that says that it lacks the keys",
		},
		&cli.StringFlag{
			Name:  "encryption-provider-config",
			Usage: "the EncryptionConfiguration of the center, likewise",
		}}
	one := func(do func(ctx context.Context, c *cli.Context, file string) error) cli.ActionFunc {
		return func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage(
					"skerry center %s needs one argument, the backup's file; see: skerry center %[1]s --help",
					c.Command.Name,
				)
			}
			return do(c.Context, c, c.Args().First())
		}
	}
	take := func(ctx context.Context, c *cli.Context, file string) error {
		m, err := Take(ctx, TakeOptions{Dir: c.String("data-dir"), File: file, Version: version, Database: database})
		if err != nil {
			return err
		}
		needs := "The keys that encrypt its Secrets are in it."
		if !m.HasKeys {
			needs = "The keys that encrypt its Secrets are NOT in it, and without them it is worth nothing; " +
				"keep them, too: " + strings.Join(m.Encryption, ", ") + "."
		}
		_, err = fmt.Fprintf(
			c.App.Writer,
			"%s holds center %s up to revision %d, and its keys: keep it as secret as them.\n%s\n"+
				"Make a data directory of it:  skerry center restore %[1]s --data-dir DIR\n",
			file,
			m.Incarnation,
			m.Revision,
			needs,
		)
		return err
	}
	restore := func(ctx context.Context, c *cli.Context, file string) error {
		dir := c.String("data-dir")
		m, err := Restore(ctx, RestoreOptions{File: file, Dir: dir, Database: database,
			Outside: Outside{c.String("encryption-key-file"), c.String("encryption-provider-config")}})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s holds center %s as it was at %s, revision %d.\n"+
			"Never start it beside the center that it is a copy of. Start it:  skerry center --data-dir %[1]s\n"+
			"Sites that had come further hold what they have; see what each would delete and change, and accept it:  "+
			"skerry target accept --all --dry-run\n",
			dir, m.Incarnation, m.Made.Format("2006-01-02 15:04:05 MST"), m.Revision)
		return err
	}
	return []*cli.Command{
		{
			Name:      "backup",
			Usage:     "put what a center cannot lose into one file, while it runs",
			ArgsUsage: "FILE",
			Flags:     flags,
			Action:    one(take),
		},
		{
			Name:      "restore",
			Usage:     "make a data directory of a backup",
			ArgsUsage: "FILE",
			Flags:     append(flags, outside...),
			Action:    one(restore),
		},
	}
}
