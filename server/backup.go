package server

import (
	"context"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/backup"
	"skerry.dev/skerry/store/kine"
)

// BackupCommands are `skerry center backup` and `skerry center restore`. Usage makes the error of a command line that cannot be meant so.
func BackupCommands(version string, usage func(format string, args ...any) error) []*cli.Command {
	database := backup.Database{File: kine.FileName, Snapshot: kine.Snapshot,
		Inspect: func(ctx context.Context, path string) (string, int64, error) {
			facts, err := kine.Inspect(ctx, path)
			return facts.Incarnation.String(), facts.Revision, err
		}}
	return backup.Commands(version, database, usage)
}
