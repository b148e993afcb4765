package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// unpackedPrefix is how the directory begins in which a backup is unpacked, in the data
	// directory.
	unpackedPrefix = ".restore-"
	// asidePrefix is how the directory begins into which a restore moves what was there.
	asidePrefix = "replaced-"
)

// Unfinished returns ErrUnfinished for a data directory in which a restore has broken off: what is
// unpacked there has not taken its place.
func Unfinished(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, unpackedPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range found {
		if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
			return fmt.Errorf("%w, or remove %s", ErrUnfinished, path)
		}
	}
	return nil
}

// intoDirectory restores into a data directory.
type intoDirectory struct{ *RestoreOptions }

// look implements into.
func (d *intoDirectory) look(context.Context) (held string, end func() error, err error) {
	end = func() error { return nil }
	entries, err := os.ReadDir(d.Dir)
	switch {
	case os.IsNotExist(err), err == nil && len(entries) == 0:
		return "nothing", end, nil
	case err != nil:
		return "", end, fmt.Errorf("look at the data directory: %w", err)
	}
	if !d.Replace {
		if err := Unfinished(d.Dir); err != nil {
			return "", end, err
		}
		return "", end, fmt.Errorf("%w: %s", ErrInUse, d.Dir)
	}
	if end, err = d.Database.Lock(d.Dir); err != nil {
		return "", end, err
	}
	return "other files", end, nil
}

// room implements into.
func (d *intoDirectory) room() (string, error) {
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(d.Dir, unpackedPrefix+"*") // mode 0700
}

// fill implements into.
func (d *intoDirectory) fill(_ context.Context, from string) (aside string, err error) {
	if d.Replace {
		if aside, err = d.putAside(from); err != nil {
			return aside, fmt.Errorf("put aside what is in %s: %w", d.Dir, err)
		}
	}
	return aside, place(from, d.Dir, d.Database.File)
}

// putAside moves what is in the data directory into a new one there: the keys first, without which
// no center starts. It leaves the lock that is held, what earlier restores have moved, and from. It
// returns "" if there is nothing else.
func (d *intoDirectory) putAside(from string) (aside string, err error) {
	entries, err := os.ReadDir(d.Dir)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		switch path := filepath.Join(d.Dir, e.Name()); {
		case path == from, e.Name() == d.Database.LockFile, strings.HasPrefix(e.Name(), asidePrefix):
		case strings.HasPrefix(e.Name(), unpackedPrefix): // has broken off
			if err := os.RemoveAll(path); err != nil {
				return "", err
			}
		default:
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.SortStableFunc(names, func(a, b string) int { return notKeys(a) - notKeys(b) })
	aside = filepath.Join(d.Dir, asidePrefix+time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(d.Dir, name), filepath.Join(aside, name)); err != nil {
			return aside, err
		}
		if err := syncDir(d.Dir); err != nil {
			return aside, err
		}
	}
	return aside, own(aside, d.Dir)
}

// notKeys is 0 for the directory of the keys, 1 for all else.
func notKeys(name string) int {
	if name == keysDir {
		return 0
	}
	return 1
}
