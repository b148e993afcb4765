package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/server/backup/destination"
	"skerry.dev/skerry/tunnel/commandline"
)

// RestoreOptions say which backup is restored, and where to.
type RestoreOptions struct {
	// File is the backup's file, or what else destination.Read takes for a location.
	File string
	S3   destination.S3
	Dir  string // is made a data directory, unless Into is set
	// Into is what the replicas of a center share; nil is Dir.
	Into Datastore
	// Replace puts away what there is in either of them.
	Replace bool
	// DryRun checks everything and writes nothing.
	DryRun   bool
	Outside  Outside
	Database Database
	Progress Progress // may be nil
}

// Restored is what a restore has done, or would do.
type Restored struct {
	Manifest
	// Held is what there was before: "nothing", or words for it.
	Held string
	// Aside is the directory into which that was moved; "" is none.
	Aside string
}

// into is where a restore writes.
type into interface {
	// look tells what is there, and why that may not be replaced. end is called when the restore is over.
	look(ctx context.Context) (held string, end func() error, err error)
	// room makes the directory in which the backup is unpacked.
	room() (string, error)
	// fill writes what is in that directory. It returns where to it has moved what was there.
	fill(ctx context.Context, from string) (aside string, err error)
}

func (o *RestoreOptions) into() into {
	if o.Into != nil {
		return &intoDatastore{o}
	}
	return &intoDirectory{o}
}

// Restore makes a data directory, or what the replicas of a center share, of a backup, and returns
// what that says of itself. Nothing is written before all of it has been checked. If it breaks off,
// no center starts on what is there.
//
// The files of a directory take their place one after the other, the database first. They belong to
// whom the directory belongs to.
func Restore(ctx context.Context, o RestoreOptions) (r Restored, err error) {
	file, from, err := destination.Read(ctx, o.File, o.S3)
	if err != nil {
		return r, err
	}
	defer file.Close()
	place := o.into()
	defer done(o.Progress)
	held, end, err := place.look(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r.Held = held
	tmp, err := o.room(place)
	if err != nil {
		return r, fmt.Errorf("make room for what is in the backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	step(o.Progress, "unpacking %s", o.File)
	if r.Manifest, err = unpack(ctx, file, tmp, o.Database.File); err != nil {
		return r, fmt.Errorf("%s: %w", from, commandline.KnownAs(err, tmp, filepath.Dir(tmp)))
	}
	step(o.Progress, "checking what was in it")
	if err := o.check(ctx, r.Manifest, tmp); err != nil {
		return r, fmt.Errorf("%s: %w", from, commandline.KnownAs(err, tmp, "(the backup)"))
	}
	if o.DryRun {
		return r, nil
	}
	r.Aside, err = place.fill(ctx, tmp)
	return r, commandline.KnownAs(err, tmp, filepath.Dir(tmp))
}

// room is a directory of mode 0700. One that is not to be written to is left alone.
func (o *RestoreOptions) room(place into) (string, error) {
	if o.DryRun {
		return os.MkdirTemp("", "skerry-restore-*")
	}
	return place.room()
}

// check holds what is unpacked against what the backup says of itself.
func (o *RestoreOptions) check(ctx context.Context, m Manifest, dir string) error {
	database := filepath.Join(dir, o.Database.File)
	incarnation, revision, err := o.Database.Inspect(ctx, database)
	if err == nil && (incarnation != m.Incarnation || revision != m.Revision) {
		err = fmt.Errorf(
			"its database is %s@%d and not %s@%d",
			incarnation,
			revision,
			m.Incarnation,
			m.Revision,
		)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotABackup, err)
	}
	if err := o.Database.Opens(ctx, database, dir, o.Outside); err != nil {
		return fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	if _, err := os.Stat(filepath.Join(dir, uplinkDir)); err == nil && o.Into != nil {
		return ErrRelay
	}
	return nil
}
