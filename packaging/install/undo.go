package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// undo takes back what was written, so that an installation is there as a whole or not at all. End it
// with finish or with all.
type undo struct {
	steps []func() error
	kept  []string        // the former files
	made  map[string]bool // directories that are not there before
}

// all takes everything back, the last first.
func (u *undo) all() error {
	var errs []error
	for i := len(u.steps) - 1; i >= 0; i-- {
		errs = append(errs, u.steps[i]())
	}
	return errors.Join(errs...)
}

// finish gives up what all needs.
func (u *undo) finish() error {
	var errs []error
	for _, path := range u.kept {
		errs = append(errs, remove(path))
	}
	return errors.Join(errs...)
}

// former ends the name of a file that is kept until an installation is whole. Nobody else has such files.
const former = ".skerry-former"

// put is the function put, and can be undone. The former file is kept beside the new one.
func (u *undo) put(path, text string, mode os.FileMode) error {
	u.directories(filepath.Dir(path))
	if _, err := os.Lstat(path); err == nil {
		kept := path + former
		if err := remove(kept); err != nil { // of an installation that was killed
			return err
		}
		if err := os.Link(path, kept); err != nil {
			return fmt.Errorf("keep the file that is there: %w", err)
		}
		u.kept = append(u.kept, kept)
		u.steps = append(u.steps, func() error { return os.Rename(kept, path) })
	} else {
		u.steps = append(u.steps, func() error { return remove(path) })
	}
	return put(path, text, mode)
}

// link makes a symbolic link unless the path is taken.
func (u *undo) link(to, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.Symlink(to, path); err != nil {
		return err
	}
	u.steps = append(u.steps, func() error { return remove(path) })
	return nil
}

// directories has a directory, and those above it, removed again that are not there yet.
func (u *undo) directories(dir string) {
	if _, err := os.Stat(dir); err == nil || u.made[dir] {
		return
	}
	if u.made == nil {
		u.made = map[string]bool{}
	}
	u.made[dir] = true
	u.directories(filepath.Dir(dir))
	u.steps = append(u.steps, func() error { return remove(dir) })
}
