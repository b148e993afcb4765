package server

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/apiserver/encryption"
	"skerry.dev/skerry/server/backup"
	"skerry.dev/skerry/store/kine"
)

// BackupCommands are `skerry center backup` and `skerry center restore`. Usage makes the error of a
// command line that cannot be meant so.
func BackupCommands(version string, usage func(format string, args ...any) error) []*cli.Command {
	database := backup.Database{File: kine.FileName, Snapshot: kine.Snapshot,
		Inspect: func(ctx context.Context, path string) (string, int64, error) {
			facts, err := kine.Inspect(ctx, path)
			return facts.Incarnation.String(), facts.Revision, err
		},
		Needs: func(ctx context.Context, path string) ([]string, error) {
			stored, err := kine.ValueIn(ctx, path, encryption.RecordKey)
			if err != nil {
				return nil, err
			}
			return encryption.Needs(stored)
		},
		Opens: func(ctx context.Context, path, dir string, outside backup.Outside) error {
			stored, err := kine.ValueIn(ctx, path, encryption.RecordKey)
			if err != nil {
				return err
			}
			file := outside.KeyFile
			if file == "" {
				file = filepath.Join(dir, "pki", encryption.FileName)
			}
			return encryption.Opens(ctx, stored, file, outside.ProviderConfig)
		}}
	return backup.Commands(version, database, usage)
}
