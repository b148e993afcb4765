// Package filelock is an exclusive lock between processes by means of a file.
// The kernel gives it back when the holder ends, however it ends, so a crash
// leaves no lock behind.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is a lock that the caller holds.
type Lock struct{ file *os.File }

// Acquire takes the lock, waiting for its holder until ctx ends.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		l, err := try(path)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another process holds %s: %w", path, context.Cause(ctx))
		case <-retry.C:
		}
	}
}

// try returns nil without an error when somebody else holds the lock.
func try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if locked, err := flock(f, unix.LOCK_EX); !locked || err != nil {
		f.Close()
		return nil, err
	}
	// The last holder may have removed the file after it was opened here: then
	// this is a lock of nothing.
	mine, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(mine, now) {
		f.Close()
		return nil, nil
	}
	return &Lock{f}, nil
}

// Release gives the lock back.
func (l *Lock) Release() { l.file.Close() }

// Remove removes the file and gives the lock back, when what it protects is gone.
func (l *Lock) Remove() error {
	defer l.Release()
	return os.Remove(l.file.Name())
}

// Held says whether some process has the lock.
func Held(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	free, err := flock(f, unix.LOCK_SH)
	return !free, err
}

// flock says whether it got the lock without waiting.
func flock(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}
