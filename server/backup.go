package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/apiserver/encryption"
	"skerry.dev/skerry/server/backup"
	"skerry.dev/skerry/server/doctor"
	"skerry.dev/skerry/store/etcd"
	"skerry.dev/skerry/store/kine"
)

// s3Credential is the name of the systemd credential that holds S3 credentials in AWS' format.
const s3Credential = "skerry_s3"

// roomToSpare is what a backup leaves free of a disk at least.
const roomToSpare = 128 << 20

// BackupCommands are `skerry center backup`, `restore` and `backups`. Usage makes the error of a
// command line that cannot be meant so.
func BackupCommands(version string, usage func(format string, args ...any) error) []*cli.Command {
	progress := func(c *cli.Context) backup.Progress { return admin.NewProgress(c) }
	return backup.Commands(version, backedUp(), credentialFile(s3Credential), usage, admin.QuietFlag(), progress)
}

// BackupFlags are the flags of scheduled backups.
func BackupFlags() []cli.Flag { return backup.PlanFlags() }

// BackupOf is what those flags say. Usage makes the error of an invalid one.
func BackupOf(c *cli.Context, usage func(format string, args ...any) error) (backup.Plan, error) {
	return backup.PlanOf(c, credentialFile(s3Credential), usage)
}

// backedUp is how a center's database is copied and looked at.
func backedUp() backup.Database {
	return backup.Database{File: kine.FileName, LockFile: doctor.LockFile, Lock: lock, Snapshot: kine.Snapshot,
		Replicas: func(endpoint string, files etcd.Files, secretFile string) backup.Datastore {
			return &restoredReplicas{kine.Config{Endpoint: endpoint, EndpointFiles: files}, secretFile}
		},
		Shared: func(ctx context.Context, endpoint string, files etcd.Files, to string) (err error) {
			s, err := kine.Open(ctx, kine.Config{Endpoint: endpoint, EndpointFiles: files})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			return s.Copy(ctx, to)
		},
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
			return encryption.Opens(ctx, stored, file, outside.KeyFile, outside.ProviderConfig)
		}}
}

// newBackups returns what takes the center's scheduled backups, nil where there are none.
func (s *Server) newBackups() *backup.Regular {
	if s.cfg.Backup.To == nil {
		return nil
	}
	database := backedUp()
	database.Snapshot = func(ctx context.Context, _, to string) error { return s.store.Copy(ctx, to) }
	c := backup.RegularConfig{Plan: s.cfg.Backup, Center: s.store.Incarnation().String(), Database: database.File,
		Scratch: s.cfg.DataDir, Room: s.roomForBackup, Log: s.cfg.Log.With("part", "backup"),
		Take: func(ctx context.Context, path string) (backup.Manifest, error) {
			return backup.Take(ctx, backup.TakeOptions{Dir: s.cfg.DataDir, File: path, Version: s.cfg.Version,
				Database: database})
		}}
	if s.lead != nil {
		c.Leads = s.lead.holds
	}
	return backup.NewRegular(c)
}

// roomForBackup returns an error if a directory's disk cannot hold a copy of the database and the
// archive that is made of it. What it shares the disk with must go on.
func (s *Server) roomForBackup(ctx context.Context, dir string) error {
	size, err := s.store.Size(ctx)
	if err != nil {
		return fmt.Errorf("ask how large the datastore is: %w", err)
	}
	needed := 2*size + roomToSpare
	if free, ok := kine.Free(dir); ok && free < needed {
		return fmt.Errorf("the disk of %s has %d MiB free, and a backup takes up to %d MiB there while it is made: "+
			"make space, or keep fewer backups (--backup-keep)", filepath.Dir(dir), free>>20, needed>>20)
	}
	return nil
}

// credentialFile is the file of a systemd credential of this service, "" if there is none.
func credentialFile(name string) string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
