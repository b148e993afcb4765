package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lock takes a lock of the state directory by name, waiting for its holder
// until ctx ends. The kernel gives it back when the holder ends, however.
func (s State) lock(ctx context.Context, name string) (unlock func(), err error) {
	f, err := s.openLock(name)
	if err != nil {
		return nil, err
	}
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("%s is being started or stopped by another process: %w", name, context.Cause(ctx))
		case <-retry.C:
		}
	}
}

// held says whether some process holds a lock.
func (s State) held(name string) (bool, error) {
	f, err := s.openLock(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

func (s State) openLock(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(s.dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
}
