package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/backup/destination"
	"skerry.dev/skerry/tunnel/commandline"
)

// UsageFunc makes the error of an invalid command line.
type UsageFunc = func(format string, args ...any) error

// commands are those of backups.
type commands struct {
	version  string
	database Database
	usage    UsageFunc
	// credential is the file with S3 credentials that the service manager gives; "" is none.
	credential string
	progress   func(*cli.Context) Progress
}

// timeForm is how times are printed.
const timeForm = "2006-01-02 15:04:05 MST"

// Commands are `skerry center backup`, `restore` and `backups`. credential is the file with S3
// credentials that the service manager gives; "" is none. progress, unless the flag quiet is set,
// says how far a command is.
func Commands(
	version string,
	database Database,
	credential string,
	usage UsageFunc,
	quiet cli.Flag,
	progress func(*cli.Context) Progress,
) []*cli.Command {
	do := commands{version, database, usage, credential, progress}
	dir := []cli.Flag{
		quiet,
		&cli.StringFlag{
			Name:    "data-dir",
			Value:   "/var/lib/skerry",
			Usage:   "directory of the center",
			EnvVars: []string{"SKERRY_DATA_DIR"},
		},
	}
	shared := []cli.Flag{&cli.StringFlag{Name: sharedFlag, EnvVars: []string{"SKERRY_DATASTORE_ENDPOINT"},
		Usage: "the datastore of a center of several replicas, as the center has it; for a backup --data-dir is of one"}}
	for _, file := range []string{"ca", "cert", "key"} {
		name := "datastore-" + file + "-file"
		shared = append(shared, &cli.StringFlag{Name: name, Usage: "of etcd, as the center has it",
			EnvVars: []string{"SKERRY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}})
	}
	outside := []cli.Flag{
		&cli.StringFlag{
			Name:    secretFlag,
			Usage:   "file with the secret that all replicas have, for --" + sharedFlag,
			EnvVars: []string{"SKERRY_DATASTORE_SECRET_FILE"},
		},
		&cli.BoolFlag{
			Name:  replaceFlag,
			Usage: "replace what is there: the files of --data-dir are moved into a directory there, a datastore is emptied",
		},
		&cli.BoolFlag{
			Name:  dryRunFlag,
			Usage: "check the backup and look at the place where it would go, and write nothing",
		},
		&cli.StringFlag{
			Name:  "encryption-key-file",
			Usage: "the key file of the center, for a backup that says that it lacks the keys",
		},
		&cli.StringFlag{
			Name:  "encryption-provider-config",
			Usage: "the EncryptionConfiguration of the center, likewise",
		}}
	return []*cli.Command{
		{
			Name:      "backup",
			Usage:     "put what a center cannot lose into one file, while it runs",
			ArgsUsage: "FILE|s3://BUCKET/PREFIX",
			Flags:     slices.Concat(dir, shared, S3Flags()),
			Action:    do.one("the backup's file, or s3://BUCKET/PREFIX,", do.backup),
		},
		{
			Name: "restore",
			Usage: "make a data directory of a backup, or fill the datastore that replicas share; of a directory or a " +
				"prefix it is the newest backup",
			ArgsUsage: "FILE|DIR|s3://BUCKET/PREFIX[/NAME]",
			Flags:     slices.Concat(dir, shared, outside, S3Flags()),
			Action:    do.one("the backup's file, its directory, or s3://BUCKET/PREFIX,", do.restore),
		},
		{
			Name:      "backups",
			Usage:     "list the backups of a directory or a bucket, oldest first",
			ArgsUsage: "DIR|s3://BUCKET/PREFIX",
			Flags:     append(S3Flags(), outputFlag()),
			Action:    do.one("a directory, or s3://BUCKET/PREFIX,", do.list),
		},
	}
}

const (
	// sharedFlag and secretFlag are flags of a center of those names, too.
	sharedFlag  = "datastore-endpoint"
	secretFlag  = "datastore-secret-file"
	replaceFlag = "replace"
	dryRunFlag  = "dry-run"
)

// one is the action of a command with one argument.
func (do commands) one(argument string, run func(c *cli.Context, location string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.NArg() != 1 {
			return do.usage("%s is required; see: skerry center %s --help", argument, c.Command.Name)
		}
		return run(c, c.Args().First())
	}
}

func (do commands) backup(c *cli.Context, location string) error {
	options := TakeOptions{Dir: c.String("data-dir"), File: location, Version: do.version, Database: do.database,
		Progress: do.progress(c)}
	if endpoint := c.String(sharedFlag); endpoint != "" {
		options.Database.Snapshot = func(ctx context.Context, _, to string) error {
			return do.database.Shared(ctx, endpoint, filesOf(c), to)
		}
	}
	take := Take
	if destination.IsBucket(location) {
		d, err := destination.Open(location, S3Of(c, do.credential))
		if err != nil {
			return do.usage("%s", err)
		}
		take = func(ctx context.Context, o TakeOptions) (Manifest, error) { return takeInto(ctx, d, &location, o) }
	}
	m, err := take(c.Context, options)
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
			"Make a data directory of it:  skerry center restore %[5]s --data-dir DIR\n",
		location,
		m.Incarnation,
		m.Revision,
		needs,
		commandline.Word(location),
	)
	return err
}

// takeInto takes a backup into a destination and sets where it is.
func takeInto(ctx context.Context, d destination.Destination, location *string, o TakeOptions) (m Manifest, err error) {
	dir, err := os.MkdirTemp("", "skerry-backup-*")
	if err != nil {
		return m, fmt.Errorf("make room for the backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.File = filepath.Join(dir, "backup")
	if m, err = Take(ctx, o); err != nil {
		return m, commandline.KnownAs(err, dir, filepath.Dir(dir))
	}
	name := destination.Name{Center: m.Incarnation, Made: m.Made}
	*location = d.String() + "/" + name.String()
	return m, d.Put(ctx, name, o.File)
}
