package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"skerry.dev/skerry/tunnel/commandline"
)

// keyTries is how often the keys are read until they are the same before and after the copy of the
// database: a step of a rotation is rare.
const keyTries = 5

// TakeOptions say what is backed up, and where to.
type TakeOptions struct {
	Dir      string // the data directory
	File     string // must not exist
	Version  string
	Database Database
	Progress Progress // may be nil
}

// Progress says what is done now.
type Progress interface {
	Step(format string, args ...any)
	// Count says how many of total things are done, now and then.
	Count(what string, done, total int)
	// Done says that what follows is the outcome.
	Done()
}

func step(p Progress, format string, args ...any) {
	if p != nil {
		p.Step(format, args...)
	}
}

func done(p Progress) {
	if p != nil {
		p.Done()
	}
}

// Take makes a backup of a data directory, on which a center may run, and returns what it says of
// itself. The file has mode 0600 and appears as a whole, when it is on the disk.
func Take(ctx context.Context, o TakeOptions) (m Manifest, err error) {
	if _, err := os.Lstat(o.File); err == nil {
		return m, fmt.Errorf("%s exists already; give the backup another name", o.File)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(o.File), ".skerry-backup-*") // mode 0700, on the disk that the backup goes to
	if err != nil {
		return m, fmt.Errorf("make room for the backup beside %s: %w; make that directory, or name another file", o.File, err)
	}
	defer func() { err = commandline.KnownAs(errors.Join(err, os.RemoveAll(tmp)), tmp, filepath.Dir(o.File)) }()
	defer done(o.Progress)
	step(o.Progress, "copying the database of %s", o.Dir)
	database := filepath.Join(tmp, "database")
	keys, err := copyBoth(ctx, o, database)
	if err != nil {
		return m, err
	}
	step(o.Progress, "checking the copy")
	m = Manifest{Format: format, Version: o.Version, Made: time.Now().UTC().Truncate(time.Second)}
	if m.Incarnation, m.Revision, err = o.Database.Inspect(ctx, database); err != nil {
		return m, fmt.Errorf("look at the copy of the database: %w", err)
	}
	if m.Encryption, err = o.Database.Needs(ctx, database); err != nil {
		return m, fmt.Errorf("look at the copy of the database: %w", err)
	}
	m.HasKeys = o.Database.Opens(ctx, database, o.Dir, Outside{}) == nil
	step(o.Progress, "writing %s", o.File)
	whole := filepath.Join(tmp, "archive")
	if err := pack(ctx, whole, m, keys, o.Database.File, database); err != nil {
		return m, fmt.Errorf("write the backup: %w", err)
	}
	if err := os.Link(whole, o.File); err != nil { // never over a file that came meanwhile
		return m, fmt.Errorf("name the backup: %w", err)
	}
	return m, syncDir(filepath.Dir(o.File))
}

// copyBoth copies the database and returns the keys of the same moment.
func copyBoth(ctx context.Context, o TakeOptions, database string) (kept, error) {
	for range keyTries {
		before, err := readKept(o.Dir)
		if err != nil {
			return nil, err
		}
		if err := o.Database.Snapshot(ctx, o.Dir, database); err != nil {
			return nil, err
		}
		after, err := readKept(o.Dir)
		if err != nil {
			return nil, err
		}
		if before.sameKeys(after) {
			return after, nil
		}
		if err := os.Remove(database); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the authorities are being replaced (skerry ca status); take the backup in a moment")
}

func pack(ctx context.Context, path string, m Manifest, keys kept, name, database string) error {
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	w, err := newWriter(path)
	if err != nil {
		return err
	}
	err = w.bytes(manifestFile, append(manifest, '\n'))
	for _, file := range keys.names() {
		if err == nil {
			err = w.bytes(file, keys[file])
		}
	}
	if err == nil {
		err = w.file(ctx, name, database)
	}
	return errors.Join(err, w.close())
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
