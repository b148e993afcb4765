package destination

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Directory is a destination on a disk. It must exist: one that is made where nothing is mounted
// would fill another disk.
type Directory string

// String returns its path.
func (d Directory) String() string { return string(d) }

// Staging implements Destination.
func (d Directory) Staging() string { return string(d) }

// Put implements Destination. The file must be on the same disk.
func (d Directory) Put(_ context.Context, name Name, path string) error {
	to := filepath.Join(string(d), name.String())
	if err := durable(path); err != nil {
		return d.explain(err)
	}
	if err := os.Link(path, to); err != nil { // never over a file that is there
		return d.explain(fmt.Errorf("name the backup: %w", err))
	}
	return d.explain(durable(string(d)))
}

// List implements Destination.
func (d Directory) List(context.Context) ([]Stored, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, d.explain(err)
	}
	var found []Stored
	for _, e := range entries {
		name, ok := ParseName(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, d.explain(err)
		}
		found = append(found, Stored{name, info.Size()})
	}
	slices.SortFunc(found, byTime)
	return found, nil
}

// Remove implements Destination.
func (d Directory) Remove(_ context.Context, name Name) error {
	err := os.Remove(filepath.Join(string(d), name.String()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.explain(err)
}

// explain adds to an error of the disk what to do.
func (d Directory) explain(err error) error { return Explain(string(d), err) }

// Explain adds to an error of writing below a directory what to do.
func Explain(dir string, err error) error {
	if err == nil {
		return nil
	}
	next := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		next = "the disk of " + dir + " is full: make space there, or keep fewer backups (--backup-keep)"
	case errors.Is(err, syscall.EROFS):
		next = "the disk of " + dir + " is read-only here: mount it writable; under systemd add ReadWritePaths=" + dir +
			" by: systemctl edit skerry-center"
	case errors.Is(err, fs.ErrPermission):
		next = dir + " is not writable for the center: give it to the center's user"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		next = dir + " is no directory: mount it, or make it and give it to the center's user"
	default:
		return err
	}
	return fmt.Errorf("%s (%w)", next, err)
}

// durable makes a file, or what stands in a directory, durable.
func durable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
