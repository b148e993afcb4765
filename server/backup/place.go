package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// place moves what is in the directory from, which is below dir, into dir: the file first before
// all else.
func place(from, dir, first string) error {
	if err := own(from, dir); err != nil {
		return fmt.Errorf("give the files to the owner of %s: %w", dir, err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	names := []string{first}
	for _, e := range entries {
		if e.Name() != first {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("put %s into its place: %w", name, err)
		}
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// own gives all that is below a directory to the owner of another one: an admin restores as root
// what a center reads as another user.
func own(from, like string) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.ErrUnsupported
	}
	return filepath.WalkDir(from, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
}
