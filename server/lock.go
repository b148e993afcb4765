package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/store/kine"
)

// ErrDataDirInUse is returned by New when another center runs on the same data directory.
var ErrDataDirInUse = errors.New(
	"another center runs on this data directory; stop it first, or give each its own --data-dir",
)

// isNew reports whether a data directory holds no center's data yet.
func isNew(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, kine.FileName))
	return errors.Is(err, os.ErrNotExist)
}

// lock takes the data directory for this process. The kernel lets it go when the process ends,
// however it ends.
func lock(dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrDataDirInUse
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return f.Close, nil
}
