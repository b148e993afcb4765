package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/server/doctor"
	"skerry.dev/skerry/store/datadir"
	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/tunnel/doctor/machine"
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
	if err := datadir.Check(dir, datadir.Center); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, doctor.LockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, notLocked(dir, err)
	}
	take := func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	if err := patiently(unix.EWOULDBLOCK, take); err != nil {
		at := dir
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrDataDirInUse
			if holder := machine.LockHolder(f.Name()); holder.ID != 0 {
				at += fmt.Sprintf(" (held by %s)", holder)
			}
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", at, err), f.Close())
	}
	return f.Close, nil
}

// notLocked is the error for a lock file that cannot be opened.
func notLocked(dir string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("lock the data directory: %w; run it as the user that owns %s (the service: systemctl start "+
			"skerry-center), or give another --data-dir", err, dir)
	}
	return fmt.Errorf("lock the data directory: %w", err)
}
